import { open, readlink, realpath, rename } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { errorCode, isNotFoundError } from './file-errors.ts';

// What systems say that cannot sync a folder; there is nothing more to be done then.
const SYNC_UNSUPPORTED_CODES = ['EINVAL', 'EPERM', 'EISDIR', 'ENOTSUP'];

/** Gives a file another name, replacing what has it, so that the name lasts even if the power fails. Throws what the system throws. */
export async function renameDurably(from: string, to: string): Promise<void> {
  await rename(from, to);
  await syncDirectory(dirname(to));
}

/** Makes the names in a folder last even if the power fails, where the system can. Throws what the system throws. */
export async function syncDirectory(path: string): Promise<void> {
  try {
    const directory = await open(path, 'r');
    await directory.sync().finally(() => directory.close());
  } catch (error) {
    if (!SYNC_UNSUPPORTED_CODES.includes(errorCode(error) ?? '')) throw error;
  }
}

/** Where a path leads through symbolic links, even if nothing is there yet. */
export async function resolveSymlinks(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if (!isNotFoundError(error)) throw error;
    const link = await readlink(path).catch(() => undefined);
    return link === undefined ? path : resolveSymlinks(resolve(await realpath(dirname(path)), link));
  }
}
