import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorCode } from './file-errors.ts';

/**
 * Makes a folder and those around it, and says whether it was not there. Throws what the system says. Node's own way of
 * making several never ends where the system says that a folder does not exist in one that does, as /proc does.
 */
export async function makeDirectory(path: string, mode: number): Promise<boolean> {
  try {
    await mkdir(path, { mode });
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST' && (await stat(path)).isDirectory()) return false;
    if (errorCode(error) !== 'ENOENT' || dirname(path) === path) throw error;
  }
  await makeDirectory(dirname(path), mode);
  await mkdir(path, { mode }).catch((error: unknown) => {
    // Another process may have been as quick.
    if (errorCode(error) !== 'EEXIST') throw error;
  });
  return true;
}
