import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorMessage, Failure, type FailureFacts, FILE_LIMIT_HINT } from '../errors.ts';

/** Failure `local_file`: what cannot be done (`read`) with which file, and why. A Failure stays what it is. */
export function fileFailure(action: string, path: string, error: unknown, facts: FailureFacts = {}): Failure {
  if (error instanceof Failure) return error;
  const [, reason] = reasonsByCode[errorCode(error) ?? ''] ?? [];
  const makesFile = errorCode(error) === 'ENOENT' && /^(?:write|lock|create)\b/.test(action);
  const hint = reason === PATH_HINT ? pathHint(path, makesFile) : reason;
  return new Failure('local_file', `cannot ${action} ${path}: ${describeFileError(error)}`, { hint, ...facts });
}

export async function withFileFailure<T>(
  action: string,
  path: string,
  run: () => Promise<T>,
  facts: FailureFacts = {},
): Promise<T> {
  return run().catch((error: unknown) => {
    throw fileFailure(action, path, error, facts);
  });
}

export function describeFileError(error: unknown): string {
  return reasonsByCode[errorCode(error) ?? '']?.[0] ?? errorMessage(error);
}

export function isNotFoundError(error: unknown): boolean {
  const code = errorCode(error);
  return code === 'ENOENT' || code === 'ENOTDIR';
}

export function undefinedIfNotFound(error: unknown): undefined {
  if (!isNotFoundError(error)) throw error;
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

const PATH_HINT = 'check the path and its directory';

// A path in the form of another tool, or one that the shell did not expand.
function pathHint(path: string, makesFile: boolean): string {
  const directory = dirname(path);
  if (makesFile && /^[\w./-]+$/.test(directory) && directory !== '.' && !path.endsWith('/'))
    return `create the directory: mkdir -p ${directory}`;
  if (/^@./.test(path)) return `write it without the @: ${path.slice(1)}`;
  if (/^~/.test(path))
    return `the shell expands ~ only at the start of a word; write "$HOME${path.replace(/^~[^/]*/, '')}"`;
  if (/^\$\{?\w/.test(path)) return `in single quotes the shell does not expand it; write "${path}"`;
  if (/^file:\/\//i.test(path))
    return `write a path instead of a URL: ${path.replace(/^file:\/\/(?:localhost)?/i, '')}`;
  if (/:\/\//.test(path)) return 'svc reads files and no URLs: download it first, for example with curl -O';
  if (path !== path.trim()) return `remove the space around the path: ${path.trim()}`;
  if (/[*?]/.test(path))
    return 'no file matches it; if one does, remove the quotes around the path, so that the shell expands it';
  return path.includes(',') ? `${PATH_HINT}; to name several files, repeat the flag` : PATH_HINT;
}

const PERMISSION_HINT = 'check the owner and the mode with ls -l';
const SPACE_HINT = 'free some space, or choose a file on another disk';

const reasonsByCode: { readonly [code: string]: readonly [message: string, hint: string] } = {
  ENOENT: ['no such file or directory', PATH_HINT],
  ENOTDIR: ['a part of the path is not a directory', PATH_HINT],
  EISDIR: ['it is a directory', 'name a file'],
  EEXIST: ['a file of that name already exists', 'choose another name'],
  EACCES: ['permission denied', PERMISSION_HINT],
  EPERM: ['operation not permitted', PERMISSION_HINT],
  EROFS: ['the file system is read-only', 'choose a file on another file system'],
  ENOSPC: ['the disk is full', SPACE_HINT],
  EDQUOT: ['the disk quota is exhausted', SPACE_HINT],
  EIO: ['the disk reports an error', 'check the disk'],
  EPIPE: ['the reader closed the pipe', 'run it with a program that reads to the end'],
  ENXIO: ['no such device, or a FIFO that no program reads', 'start the program that reads the FIFO'],
  ELOOP: ['too many symbolic links', PATH_HINT],
  EMFILE: ['too many files are open', FILE_LIMIT_HINT],
};
