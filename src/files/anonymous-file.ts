import { type FileHandle, open, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode } from './file-errors.ts';
import { makeDirectory } from './make-directory.ts';

/**
 * Opens a new file without a name (0600) in a directory, which is created (0700) if needed: the file is gone when the process
 * ends, however it ends. Throws system errors.
 */
export async function openAnonymousFile(directory: string): Promise<FileHandle> {
  await makeDirectory(directory, 0o700);
  // The first free name; `wx` makes sure that no other process has it.
  for (let count = 1; ; count++) {
    const path = join(directory, `.spool.${count}`);
    try {
      const handle = await open(path, 'wx+', 0o600);
      await unlink(path);
      return handle;
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw error;
    }
  }
}
