import { type FileHandle, open, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode } from './file-errors.ts';
import { makeDirectory } from './make-directory.ts';

/**
 * Opens an unnamed file (0600) in a directory, which is created (0700) if needed. The system deletes the file when the process
 * ends, even if it is killed. Throws system errors.
 */
export async function openAnonymousFile(directory: string): Promise<FileHandle> {
  await makeDirectory(directory, 0o700);
  const { handle, path } = await openFirstFree((count) => join(directory, `.spool.${count}`), 'wx+', 0o600);
  await unlink(path);
  return handle;
}

/** Creates and opens a file under the first free of several names: `wx` makes sure that no other process has it. Throws system errors. */
export async function openFirstFree(
  nameOf: (count: number) => string,
  flags: 'wx' | 'wx+',
  mode: number,
): Promise<{ readonly handle: FileHandle; readonly path: string }> {
  for (let count = 1; ; count++) {
    const path = nameOf(count);
    try {
      return { handle: await open(path, flags, mode), path };
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw error;
    }
  }
}
