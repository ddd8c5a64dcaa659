import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { errorCode } from './file-errors.ts';

/**
 * Opens a file of records for reading and appending, and creates it: with mode 0600 whatever the umask, and also if it was wider.
 * Throws Error for a symlink, which could lead the records to a file of another user, and system errors.
 */
export async function openPrivateFile(path: string): Promise<FileHandle> {
  const { O_RDWR, O_APPEND, O_CREAT, O_NOFOLLOW } = constants;
  const file = await open(path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600).catch((error: unknown) => {
    throw errorCode(error) === 'ELOOP' ? new Error('it is a symlink; replace it with a file') : error;
  });
  // On a file system without modes, chmod fails and is skipped.
  await file.chmod(0o600).catch(() => {});
  return file;
}
