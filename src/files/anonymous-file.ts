import { type FileHandle, open, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode } from './file-errors.ts';
import { makeDirectory } from './make-directory.ts';

/**
 * Opens a new file for its owner only that has no name, in a folder that is made (0700) where it is not there: whatever
 * ends the process, nothing of the file stays. Throws what the system throws.
 */
export async function openAnonymousFile(directory: string): Promise<FileHandle> {
  await makeDirectory(directory, 0o700);
  // The first name that is free, which nobody else can have: so no chance is needed.
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
