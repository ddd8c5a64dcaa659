import { open, readlink, realpath, rename } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { errorCode, isNotFoundError } from './file-errors.ts';

// Errors of systems that cannot sync a directory, and of a directory that one may write but not read.
const SYNC_UNSUPPORTED_CODES = ['EINVAL', 'EPERM', 'EISDIR', 'ENOTSUP', 'EACCES'];

/** Renames a file, replacing the target, so that the new name survives a power failure. Throws system errors. */
export async function renameDurably(from: string, to: string): Promise<void> {
  await rename(from, to);
  await syncDirectory(dirname(to));
}

/** Syncs a directory, if the system supports it, so that its entries survive a power failure. Throws system errors. */
export async function syncDirectory(path: string): Promise<void> {
  try {
    const directory = await open(path, 'r');
    await directory.sync().finally(() => directory.close());
  } catch (error) {
    if (!SYNC_UNSUPPORTED_CODES.includes(errorCode(error) ?? '')) throw error;
  }
}

/** The target of a path through symbolic links, even if the target does not exist. */
export async function resolveSymlinks(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if (!isNotFoundError(error)) throw error;
    const link = await readlink(path).catch(() => undefined);
    return link === undefined ? path : resolveSymlinks(resolve(await realpath(dirname(path)), link));
  }
}
