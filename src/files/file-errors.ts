import { stat } from 'node:fs/promises';
import { errorMessage, Failure, type FailureFacts, FILE_LIMIT_HINT } from '../errors.ts';

/** Failure `local_file`: what cannot be done with which file (`read body.json`), and why. A Failure stays what it is. */
export function fileFailure(action: string, error: unknown, facts: FailureFacts = {}): Failure {
  if (error instanceof Failure) return error;
  const limitFacts = errorCode(error) === 'EMFILE' ? { hint: FILE_LIMIT_HINT } : {};
  return new Failure('local_file', `cannot ${action}: ${describeFileError(error)}`, { ...facts, ...limitFacts });
}

export async function withFileFailure<T>(action: string, run: () => Promise<T>, facts: FailureFacts = {}): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw fileFailure(action, error, facts);
  }
}

export function describeFileError(error: unknown): string {
  const code = errorCode(error);
  return (code && messagesByCode[code]) ?? errorMessage(error);
}

export function isNotFoundError(error: unknown): boolean {
  const code = errorCode(error);
  return code === 'ENOENT' || code === 'ENOTDIR';
}

export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

export async function pathExists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error) => !isNotFoundError(error),
  );
}

const messagesByCode: { readonly [code: string]: string } = {
  ENOENT: 'no such file or directory',
  ENOTDIR: 'a part of the path is not a directory',
  EISDIR: 'it is a directory',
  EEXIST: 'a file of that name already exists',
  EACCES: 'permission denied',
  EPERM: 'operation not permitted',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is exhausted',
  EIO: 'the disk reports an error',
  EPIPE: 'the reader closed the pipe',
  ENXIO: 'no such device, or a FIFO that no program reads',
  ELOOP: 'too many symbolic links',
  EMFILE: 'too many files are open',
};
