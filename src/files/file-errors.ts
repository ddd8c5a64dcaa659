import { stat } from 'node:fs/promises';

/** Why a file could not be used, in words. */
export function describeFileError(error: unknown): string {
  const code = errorCode(error);
  return (code && messagesByCode[code]) ?? (error instanceof Error ? error.message : String(error));
}

/** True for the error of a file or folder that is not there. */
export function isNotFoundError(error: unknown): boolean {
  const code = errorCode(error);
  return code === 'ENOENT' || code === 'ENOTDIR';
}

/** The system's code of an error, such as ENOSPC. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** True where there is something at a path, of whatever kind. */
export async function pathExists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error) => !isNotFoundError(error),
  );
}

const messagesByCode: { readonly [code: string]: string } = {
  ENOENT: 'there is no such file or folder',
  ENOTDIR: 'a part of the path is not a folder',
  EISDIR: 'it is a folder',
  EEXIST: 'something else has that name',
  EACCES: 'permission denied',
  EPERM: 'it is not permitted',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EIO: 'the disk reports an error',
  ELOOP: 'its links lead in a circle',
  EMFILE: 'too many files are open',
};
