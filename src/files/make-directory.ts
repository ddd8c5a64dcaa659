import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorCode } from './file-errors.ts';
import { syncDirectory } from './rename-durably.ts';

/**
 * Creates a directory and its parents durably; returns false if it already existed. Throws system errors. Node's recursive
 * mkdir never returns where the system reports ENOENT in an existing directory, as /proc does.
 */
export async function makeDirectory(path: string, mode: number): Promise<boolean> {
  try {
    await mkdir(path, { mode });
    await syncDirectory(dirname(path));
    return true;
  } catch (error) {
    // The final dot makes the system reject a file with ENOTDIR, which describes the problem better.
    if (errorCode(error) === 'EEXIST' && (await stat(`${path}/.`))) return false;
    if (errorCode(error) !== 'ENOENT' || dirname(path) === path) throw error;
  }
  await makeDirectory(dirname(path), mode);
  await mkdir(path, { mode }).catch((error: unknown) => {
    // Another process may have created it meanwhile.
    if (errorCode(error) !== 'EEXIST') throw error;
  });
  await syncDirectory(dirname(path));
  return true;
}
