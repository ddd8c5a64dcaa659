import { fstat, type Stats, writeFile } from 'node:fs';
import {
  type FileHandle,
  mkdir,
  open,
  readdir,
  readlink,
  realpath,
  rename,
  rm,
  stat,
  statfs,
  unlink,
} from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { Failure, usageFailure } from '../errors.ts';
import { formatByteSize } from './byte-size.ts';
import { errorCode, fileFailure, isNotFoundError, undefinedIfNotFound, withFileFailure } from './file-errors.ts';

/** Creates a directory and its parents durably; false if it already existed. Throws system errors. */
export async function makeDirectory(path: string, mode: number): Promise<boolean> {
  // Node's recursive mkdir never returns where the system reports ENOENT in an existing directory, as /proc does.
  try {
    await mkdir(path, { mode });
  } catch (error) {
    // The final dot makes the system reject a file with ENOTDIR, which describes the problem better.
    if (errorCode(error) === 'EEXIST' && (await stat(`${path}/.`))) return false;
    if (errorCode(error) !== 'ENOENT' || dirname(path) === path) throw error;
    await makeDirectory(dirname(path), mode);
    await mkdir(path, { mode }).catch((second: unknown) => {
      if (errorCode(second) !== 'EEXIST') throw second;
    });
  }
  await syncDirectory(dirname(path));
  return true;
}

// Errors of systems that cannot sync a directory, and of a directory that one may write but not read.
const SYNC_UNSUPPORTED_CODES = ['EINVAL', 'EPERM', 'EISDIR', 'ENOTSUP', 'EACCES'];

export async function renameDurably(from: string, to: string): Promise<void> {
  await rename(from, to);
  await syncDirectory(dirname(to));
}

export async function syncDirectory(path: string): Promise<void> {
  try {
    const directory = await open(path, 'r');
    await directory.sync().finally(() => directory.close());
  } catch (error) {
    if (!SYNC_UNSUPPORTED_CODES.includes(errorCode(error) ?? '')) throw error;
  }
}

export async function resolveSymlinks(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if (!isNotFoundError(error)) throw error;
    const link = await readlink(path).catch(() => undefined);
    return link === undefined ? path : resolveSymlinks(resolve(await realpath(dirname(path)), link));
  }
}

/** Opens an unnamed file (0600) in a directory (0700), which the system deletes when the process ends. */
export async function openAnonymousFile(directory: string): Promise<FileHandle> {
  await makeDirectory(directory, 0o700);
  const { handle, path } = await openFirstFree((count) => join(directory, `.spool.${count}`), 0o600);
  await unlink(path);
  return handle;
}

const MAX_SPOOL_BYTES = 10 * 1024 ** 3;

/**
 * An unnamed file for the copy of an input that can be read only once. Throws Failure `local_file` for a copy of more than
 * `maxBytes`: if undefined, 10 GiB or half of the free space there, whichever is less.
 */
export async function openSpool(directory: string, maxBytes?: number) {
  const handle = await openAnonymousFile(directory);
  const { bavail, bsize, blocks } = await statfs(directory);
  const halfFree = blocks === 0 ? MAX_SPOOL_BYTES : Math.floor((bavail * bsize) / 2);
  const limit = maxBytes ?? Math.min(MAX_SPOOL_BYTES, halfFree);
  const origin = maxBytes === undefined && limit === halfFree ? 'half of the free space there' : 'the limit';
  let bytes = 0;
  const append = async (chunk: Uint8Array, label: string, hint?: string): Promise<void> => {
    const action = 'keep a copy of';
    const copy = `${label} in ${directory}`;
    const message = `cannot ${action} ${copy}: it has more than ${formatByteSize(limit)}, ${origin}`;
    const longer = 'raise the limit with --max-spool, such as --max-spool 20G, or name a regular file';
    bytes += chunk.length;
    if (bytes > limit) throw new Failure('local_file', message, { hint: longer, applied: 'no' });
    await withFileFailure(action, copy, () => handle.appendFile(chunk), { ...(hint && { hint }), applied: 'no' });
  };
  return { handle, append };
}

// `wx+` makes sure that no other process has the file.
async function openFirstFree(
  nameOf: (count: number) => string,
  mode: number,
): Promise<{ readonly handle: FileHandle; readonly path: string }> {
  for (let count = 1; ; count++) {
    const path = nameOf(count);
    try {
      return { handle: await open(path, 'wx+', mode), path };
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw error;
    }
  }
}

/** A file that is about to be replaced. Every function throws Failure `local_file` with the path as typed. */
export interface FileReplacement {
  readonly isTerminal: boolean;
  readonly write: (bytes: string | Uint8Array) => Promise<void>;
  /** The first bytes that were written, at least one; none of a device, a pipe or an open descriptor, which cannot be read back. */
  readonly read: (length: number) => AsyncIterable<Uint8Array>;
  readonly stats: () => Promise<Stats>;
  /** Replaces the old file durably. If that fails, the old file stays; then call `abandon`. */
  readonly commit: () => Promise<void>;
  /** Keeps the old file; moves the new one to a path, or removes it without one. True if it was moved there. */
  readonly abandon: (kept?: string) => Promise<boolean>;
}

/**
 * Starts to replace or create a file; devices, pipes and open descriptors are written directly instead. A new file has exactly
 * `mode`, by default 0666 less the umask; an existing file keeps its mode.
 */
export async function openReplacement(path: string, displayPath: string, mode?: number): Promise<FileReplacement> {
  return withFileFailure('write', displayPath, async () => {
    const existing = await stat(path).catch(undefinedIfNotFound);
    if (!existing?.isDirectory()) rejectDirectoryName(displayPath);
    if (existing && (!existing.isFile() || descriptorOf(path) !== undefined))
      return openDirectly(path, existing, displayPath);
    const target = await resolveSymlinks(path);
    const nameOf = (count: number): string => join(dirname(target), `.${basename(target)}.${count}.tmp`);
    const { handle, path: temporary } = await openFirstFree(nameOf, existing ? 0o600 : (mode ?? 0o666));
    // Not when it is opened, because the umask would apply. On a file system without modes, chmod fails and is skipped.
    const exactMode = existing ? existing.mode & 0o777 : mode;
    if (exactMode !== undefined) await handle.chmod(exactMode).catch(() => {});
    return {
      isTerminal: false,
      write: (bytes) => withFileFailure('write', displayPath, () => handle.writeFile(bytes)),
      read: (length) => handle.createReadStream({ start: 0, end: length - 1, autoClose: false }),
      stats: () => handle.stat(),
      commit: () =>
        withFileFailure('write', displayPath, async () => {
          await handle.sync();
          await handle.close();
          await renameDurably(temporary, target);
        }),
      abandon: async (kept) => {
        await handle.close().catch(() => {});
        if (kept === undefined) {
          await withFileFailure('write', displayPath, () => rm(temporary, { force: true }));
          return false;
        }
        return rename(temporary, kept).then(
          () => true,
          (error: unknown) => {
            // A commit that failed while syncing the directory has renamed the file already.
            if (isNotFoundError(error)) return false;
            throw fileFailure('write', kept, error, { hint: `the partial output is in ${temporary}` });
          },
        );
      },
    };
  });
}

/** Throws Failure `local_file` for the name of a directory, such as `out/`, which a resolved path no longer shows. */
export function rejectDirectoryName(displayPath: string): void {
  if (!/(^|\/)\.{0,2}$/.test(displayPath)) return;
  const message = `cannot write ${displayPath}: it is the name of a directory`;
  throw new Failure('local_file', message, {
    hint: 'create the directory if it does not exist, and name a file in it',
    applied: 'no',
  });
}

/** True if a path is a regular file or directory, or does not exist; false for a name of an open descriptor. */
export async function isReplaceable(path: string): Promise<boolean> {
  if (descriptorOf(path) !== undefined) return false;
  return stat(path).then(
    (found) => found.isFile() || found.isDirectory(),
    () => true,
  );
}

/** Replaces or creates a file with a text, atomically. Throws Failure `local_file` and leaves the file unchanged otherwise. */
export async function writeFileAtomically(
  path: string,
  displayPath: string,
  text: string,
  mode?: number,
): Promise<void> {
  const file = await openReplacement(path, displayPath, mode);
  await commitOrAbandon(file, () => file.write(text));
}

export async function commitOrAbandon(
  { commit, abandon }: { readonly commit: () => Promise<void>; readonly abandon: () => Promise<unknown> },
  writeAll: () => Promise<void>,
): Promise<void> {
  try {
    await writeAll();
    await commit();
  } catch (error) {
    await abandon().catch(() => {});
    throw error;
  }
}

/** Removes temporary files that killed processes left beside a file. The caller holds the lock of the file. */
export async function removeStaleReplacements(path: string): Promise<void> {
  for (const entry of await readdir(dirname(path)))
    if (entry.startsWith(`.${basename(path)}.`) && /\.\d+\.tmp$/.test(entry))
      await rm(join(dirname(path), entry), { force: true });
}

/** The number of a path like /dev/stdout or /dev/fd/3; undefined for other paths. */
export function descriptorOf(path: string): number | undefined {
  const standard = ['/dev/stdin', '/dev/stdout', '/dev/stderr'].indexOf(path);
  if (standard !== -1) return standard;
  const digits = /^\/(?:dev|proc\/self)\/fd\/(\d+)$/.exec(path)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

async function openDirectly(path: string, existing: Stats, displayPath: string): Promise<FileReplacement> {
  const { isatty } = await import('node:tty');
  const handle = existing.isFile() ? undefined : await open(path, 'w');
  const descriptor = handle?.fd ?? descriptorOf(path) ?? -1;
  const close = async (): Promise<void> => handle?.close();
  return {
    isTerminal: isatty(descriptor),
    stats: () => promisify(fstat)(descriptor),
    write: (bytes) => withFileFailure('write', displayPath, () => promisify(writeFile)(descriptor, bytes)),
    read: async function* () {},
    commit: () => withFileFailure('write', displayPath, close),
    abandon: () => close().then(() => false),
  };
}

/** True when two paths name one file, also through links; files that do not exist are compared by path. */
export async function isSameFile(left: string, right: string): Promise<boolean> {
  if (resolve(left) === resolve(right)) return true;
  const [one, other] = await Promise.all([left, right].map((path) => stat(path).catch(() => undefined)));
  return one !== undefined && other !== undefined && one.dev === other.dev && one.ino === other.ino;
}

/** As isSameFile, for the values of two flags: a flag that is absent, or `-` for stdin or stdout, names no file. */
export async function nameSameFile(left: string | undefined, right: string | undefined, cwd: string): Promise<boolean> {
  const [one, other] = [left, right].map((name) =>
    name === undefined || name === '-' ? undefined : resolve(cwd, name),
  );
  return one !== undefined && other !== undefined && isSameFile(one, other);
}

/** Throws usage if the file that `flag` names is one of the inputs, which it would replace; devices and pipes are not replaced. */
export async function rejectReplacedInput(
  flag: string,
  output: string | undefined,
  inputs: readonly string[],
  cwd: string,
): Promise<void> {
  for (const input of inputs)
    if (output !== undefined && (await nameSameFile(input, output, cwd)) && (await isReplaceable(resolve(cwd, output))))
      throw usageFailure(`${output} is an input, and ${flag} would replace it`, `choose another file with ${flag}`);
}
