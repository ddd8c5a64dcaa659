import { open, readlink, realpath, rename } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { errorCode, isMissing } from './reason.ts';

// What systems say that cannot sync a folder; there is nothing more to be done then.
const CANNOT = ['EINVAL', 'EPERM', 'EISDIR', 'ENOTSUP'];

/** Gives a file another name, replacing what has it, so that the name lasts even if the power fails. Throws what the system throws. */
export async function renameDurably(from: string, to: string): Promise<void> {
  await rename(from, to);
  await syncFolder(dirname(to));
}

/** Makes the names in a folder last even if the power fails, where the system can. Throws what the system throws. */
export async function syncFolder(path: string): Promise<void> {
  try {
    const folder = await open(path, 'r');
    await folder.sync().finally(() => folder.close());
  } catch (error) {
    if (!CANNOT.includes(errorCode(error) ?? '')) throw error;
  }
}

/** Where a path leads through symbolic links, even if nothing is there yet. */
export async function linkTarget(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if (!isMissing(error)) throw error;
    const link = await readlink(path).catch(() => undefined);
    return link === undefined ? path : linkTarget(resolve(await realpath(dirname(path)), link));
  }
}
