import { Buffer } from 'node:buffer';
import {
  closeSync,
  constants,
  fstatSync,
  linkSync,
  openSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { open, readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Failure, type FailureCode, safetyFailure } from '../errors.ts';
import type { Runtime } from '../runtime.ts';
import { describeFileError, errorCode, isNotFoundError, withFileFailure } from './file-errors.ts';
import { currentOwner, isOwnerRunning, type OwnerRuntime, type ProcessOwner } from './process-owner.ts';

type Unlock = () => Promise<void>;

export type LockRuntime = OwnerRuntime & Pick<Runtime, 'after' | 'elapsed' | 'uptime' | 'randomBytes'>;

/** The process that has a lock, from the text of its file. */
interface LockHolder extends ProcessOwner {
  readonly text: string;
  readonly token: string;
}

// Short, so that waiting processes take turns quickly.
const LOCK_POLL_MS = 10;

// The process that has a lock may run where this one cannot see it.
const MAX_UNSEEN_LOCK_AGE_MS = 60_000;

const LINK_UNSUPPORTED_CODES = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'];

// Just released by another process, or held.
type LockState = 'free' | HeldLock;

interface HeldLock {
  readonly holder: LockHolder;
  /** By the clock of the file system. */
  readonly modifiedAtMs: number;
}

/**
 * Locks a path by a file beside it, waiting up to `timeoutMs`, and renews the lock every 10 s. The lock of a process that ended is
 * taken over, and after 60 s without a change that of a process in another PID namespace or boot. Throws Failure `local_file`.
 */
export async function acquireLock(
  path: string,
  displayPath: string,
  runtime: LockRuntime,
  timeoutMs = 0,
): Promise<Unlock> {
  const own = await takeLock(path, displayPath, runtime, timeoutMs, 'local_file', MAX_UNSEEN_LOCK_AGE_MS);
  return renewLock(`${path}.lock`, displayPath, runtime, own, async () => {}).release;
}

async function takeLock(
  path: string,
  displayPath: string,
  runtime: LockRuntime,
  timeoutMs: number,
  code: FailureCode,
  maxUnseenAgeMs: number,
): Promise<LockHolder> {
  const file = `${path}.lock`;
  const deadline = runtime.elapsed() + timeoutMs;
  return withFileFailure('lock', displayPath, async () => {
    for (;;) {
      const attempt = await tryLock(file, runtime);
      if ('taken' in attempt) {
        await removeLeftovers(file, runtime).catch(() => {});
        return attempt.taken;
      }
      const { state, nowMs } = attempt;
      if (state === 'free') continue;
      if (isAbandoned(state, nowMs, maxUnseenAgeMs, runtime) && (await removeLock(file, state.holder, runtime)))
        continue;
      if (runtime.elapsed() >= deadline) throw lockHeldFailure(displayPath, state.holder, runtime, code);
      await sleep(LOCK_POLL_MS, runtime);
    }
  });
}

const RENEWAL_MS = 10_000;
// Less than any time after which another process takes the lock.
const MAX_RENEWAL_AGE_MS = 60_000;
/** The shortest time without a renewal after which a lease may be taken over, in milliseconds. */
export const MIN_TAKE_OVER_MS = 65_000;
const TAKE_OVER_POLL_MS = 1000;
const RENEWAL_COUNT_DIGITS = 10;

export interface Lease {
  /** Throws Failure `safety_check` if another process may have taken the lock, because it was not renewed for 60 s. */
  readonly requireHeld: () => void;
  /**
   * As requireHeld, and compares the lock at its path with this one: a removed lock is put back, with a warning. Where the file
   * system cannot do it, the time since the last renewal decides.
   */
  readonly requireAtPath: () => void;
  /** Removes the lock, or warns that it cannot be removed. */
  readonly release: () => Promise<void>;
}

export interface LeaseOptions {
  /** Waits for 65 s where the holder of the lock cannot be seen, and takes a lock that was not renewed. */
  readonly isResumed?: boolean | undefined;
  /** The same for the lock of any other machine, after this time. */
  readonly takeOverMs?: number | undefined;
  readonly warn: (message: string) => Promise<void>;
}

/**
 * Locks a path as acquireLock does, and renews the lock every 10 s while the process runs. A process in another PID namespace or boot
 * is judged by its renewals alone, on the clock of this one. Throws Failure `safety_check` when the path is locked.
 */
export async function acquireLease(
  path: string,
  displayPath: string,
  runtime: LockRuntime,
  { isResumed = false, takeOverMs, warn }: LeaseOptions,
): Promise<Lease> {
  const file = `${path}.lock`;
  const take = (): Promise<LockHolder> =>
    takeLock(path, displayPath, runtime, 0, 'safety_check', Number.POSITIVE_INFINITY);
  const own = await take().catch(async (error: unknown) => {
    const state = readLockState(file);
    if (state === 'free') return take();
    const { holder } = state;
    const waitMs = takeOverMs ?? (isResumed && holder?.scope !== undefined ? MIN_TAKE_OVER_MS : undefined);
    if (waitMs === undefined || !isElsewhere(holder, runtime)) throw error;
    await warn(
      `${displayPath} is locked by ${describeHolder(holder, runtime)}, which cannot be seen from here; waiting ${waitMs / 1000} s to see if it renews its lock`,
    );
    if (!(await staysUnchanged(file, holder.text, runtime, waitMs))) throw error;
    await removeLock(file, holder, runtime);
    return take();
  });
  return renewLock(file, displayPath, runtime, own, warn);
}

async function staysUnchanged(file: string, text: string, runtime: LockRuntime, limitMs: number): Promise<boolean> {
  const start = runtime.elapsed();
  while (runtime.elapsed() - start < limitMs) {
    await sleep(TAKE_OVER_POLL_MS, runtime);
    const state = readLockState(file);
    if (state === 'free' || state.holder.text !== text) return state === 'free';
  }
  return true;
}

function renewLock(
  file: string,
  displayPath: string,
  runtime: LockRuntime,
  holder: LockHolder,
  warn: LeaseOptions['warn'],
): Lease {
  const { uptime } = runtime;
  let renewedAt = uptime();
  let count = 0;
  let lossReason: string | undefined;
  // An age that was reached once stays: the process may have been stopped in between.
  const isHeld = (): boolean => {
    if (uptime() - renewedAt > MAX_RENEWAL_AGE_MS)
      lossReason ??= `the lock of ${displayPath} could not be renewed for ${MAX_RENEWAL_AGE_MS / 1000} s, so another process may have taken the batch over`;
    return lossReason === undefined;
  };
  const requireHeld = (): void => {
    if (isHeld()) return;
    throw safetyFailure('in_use', lossReason ?? '', {
      hint: 'nothing more is sent; continue with --resume, if no other process does',
      applied: 'no',
    });
  };
  const requireAtPath = (): void => {
    requireHeld();
    try {
      const state = readLockState(file);
      if (state !== 'free' && state.holder.token === holder.token) return;
      if (state === 'free' && createLock(file, holder) === undefined)
        void warn(`${displayPath}.lock was removed while the batch runs; it is restored`);
      else lossReason = `the lock of ${displayPath} was replaced, so another process has taken the batch over`;
    } catch (error) {
      if (error instanceof Failure) lossReason = error.message;
    }
    requireHeld();
  };
  const stopRenewals = repeat(runtime, RENEWAL_MS, async () => {
    requireAtPath();
    const startedAt = uptime();
    if (!(await writeRenewal(file, holder, count + 1))) return;
    count += 1;
    if (isHeld()) renewedAt = startedAt;
  });
  return {
    requireHeld,
    requireAtPath,
    release: async () => {
      stopRenewals();
      if (!isHeld()) return;
      await removeLock(file, holder, runtime, true).catch((error: unknown) =>
        warn(`cannot remove ${displayPath}.lock: ${describeFileError(error)}`),
      );
    },
  };
}

// Through the file that was compared: once another process has replaced it, a renewal changes nothing and returns false.
async function writeRenewal(file: string, { text }: LockHolder, count: number): Promise<boolean> {
  const handle = await open(file, constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(MAX_LOCK_BYTES), 0, MAX_LOCK_BYTES, 0);
    if (!buffer.toString('utf8', 0, bytesRead).startsWith(text)) return false;
    await handle.write(`\n${String(count).padStart(RENEWAL_COUNT_DIGITS, '0')}`, Buffer.byteLength(text));
    await handle.datasync();
    return true;
  } finally {
    await handle.close();
  }
}

// Again after each run, also one that failed: a file system that fails now may work in time. Returns a function that ends it.
function repeat({ after }: Pick<Runtime, 'after'>, periodMs: number, run: () => Promise<void>): () => void {
  let cancel = (): void => {};
  let isStopped = false;
  const schedule = (): void => {
    if (!isStopped)
      cancel = after(
        periodMs,
        () =>
          void run()
            .catch(() => {})
            .finally(schedule),
      );
  };
  schedule();
  return () => {
    isStopped = true;
    cancel();
  };
}

// The clock of the file system, where a lock that another process has could not be taken.
type LockAttempt = { readonly taken: LockHolder } | { readonly state: LockState; readonly nowMs: number };

async function tryLock(file: string, runtime: LockRuntime): Promise<LockAttempt> {
  const owner = currentOwner(runtime);
  const { pid, host, start, scope } = owner;
  const token = Buffer.from(runtime.randomBytes(8)).toString('hex');
  const text = [pid, host, token, ...(scope ? [start ?? '-', scope] : [start ?? ''])].join(' ').trimEnd();
  const taken = { ...owner, text, token };
  const nowMs = createLock(file, taken);
  return nowMs === undefined ? { taken } : { state: readLockState(file), nowMs };
}

/**
 * Creates a lock. Returns undefined, or, if its file already exists, the time by the clock of the file system. A link appears
 * together with its content, so only a crash of the machine, or of a process on a file system without links, leaves an empty lock.
 */
function createLock(file: string, { text, token }: LockHolder): number | undefined {
  const temporary = `${file}.${token}`;
  const create = (path: string): void => writeFileSync(path, text, { flag: 'wx', mode: 0o600 });
  try {
    create(temporary);
    try {
      linkSync(temporary, file);
    } catch (error) {
      if (!LINK_UNSUPPORTED_CODES.includes(errorCode(error) ?? '')) throw error;
      create(file);
    }
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
    return statSync(temporary).mtimeMs;
  } finally {
    rmSync(temporary, { force: true });
  }
}

// A process that removes a lock first takes a second one, whose name contains the token of the first: the lock may be of another
// process by now. On a full disk, it removes its own lock without one. Returns false while another process does it.
async function removeLock(
  file: string,
  { text, token }: LockHolder,
  runtime: LockRuntime,
  isOwn = false,
): Promise<boolean> {
  const removalLock = `${file}.${token}.gone`;
  const attempt = await tryLock(removalLock, runtime).catch((error: unknown) => {
    if (!isOwn) throw error;
  });
  if (!attempt || 'taken' in attempt) {
    const state = readLockState(file);
    const isSame = state !== 'free' && (isOwn ? state.holder.token === token : state.holder.text === text);
    if (isSame) await rm(file, { force: true });
    if (attempt) await rm(removalLock, { force: true });
    return true;
  }
  const { state, nowMs } = attempt;
  const isLeftover = state !== 'free' && isAbandoned(state, nowMs, MAX_UNSEEN_LOCK_AGE_MS, runtime);
  return isLeftover && removeLock(removalLock, state.holder, runtime);
}

// What processes left that were killed while they took a lock.
async function removeLeftovers(file: string, runtime: LockRuntime): Promise<void> {
  const prefix = `${basename(file)}.`;
  const own = readLockState(file);
  if (own === 'free') return;
  for (const name of await readdir(dirname(file))) {
    if (!name.startsWith(prefix) || !/^[0-9a-f]{16}(\.gone)?$/.test(name.slice(prefix.length))) continue;
    const leftover = join(dirname(file), name);
    try {
      const state = readLockState(leftover);
      if (state !== 'free' && isAbandoned(state, own.modifiedAtMs, MAX_UNSEEN_LOCK_AGE_MS, runtime))
        await rm(leftover, { force: true });
    } catch {}
  }
}

// More than any lock has, renewed or not.
const MAX_LOCK_BYTES = 4096;

// Throws Failure `safety_check` for anything but a small regular file, without waiting for it or following it.
function readLockState(file: string): LockState {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  let fd: number | undefined;
  try {
    fd = openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    const found = fstatSync(fd);
    if (!found.isFile()) throw foreignLockFailure(file, 'is not a regular file');
    if (found.size > MAX_LOCK_BYTES) throw foreignLockFailure(file, `has more than ${MAX_LOCK_BYTES} bytes`);
    const buffer = Buffer.alloc(MAX_LOCK_BYTES);
    const holder = readHolder(buffer.toString('utf8', 0, readSync(fd, buffer)));
    if (!holder) throw foreignLockFailure(file, 'has other content than a lock');
    return { holder, modifiedAtMs: found.mtimeMs };
  } catch (error) {
    if (isNotFoundError(error)) return 'free';
    if (['ELOOP', 'EMLINK', 'ENXIO', 'EISDIR'].includes(errorCode(error) ?? ''))
      throw foreignLockFailure(file, 'is not a regular file');
    throw error;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

function foreignLockFailure(file: string, problem: string): Failure {
  return safetyFailure('unsafe_file', `${file} ${problem}, so it is not a lock of svc`, {
    hint: 'find out what it is and move it away, or choose another file',
    applied: 'no',
  });
}

// Undefined for text that svc did not write. A crash leaves an empty lock, or one of NUL characters, of an unknown process.
function readHolder(text: string): LockHolder | undefined {
  if (/^\0*$/.test(text)) return { text, pid: 0, host: '', token: '0'.repeat(16), start: undefined, scope: '' };
  const [, pid, host, token, start, scope] = /^(\d+) (\S+) (\w+)(?: (\S+))?(?: (\S+))?(?:\n\d*)?$/.exec(text) ?? [];
  if (!host || !token) return undefined;
  return { text, pid: Number(pid), host, token, start: start === '-' ? undefined : start, scope };
}

function isElsewhere(holder: LockHolder, runtime: LockRuntime): boolean {
  return isOwnerRunning(holder, runtime) === undefined;
}

// True for the lock of a process that ended, and, if it cannot be looked up, for one that did not change for so long.
function isAbandoned(lock: HeldLock, nowMs: number, maxUnseenAgeMs: number, runtime: LockRuntime): boolean {
  const { holder, modifiedAtMs } = lock;
  const isRunning = isOwnerRunning(holder, runtime);
  if (isRunning !== undefined) return !isRunning;
  return holder.scope !== undefined && nowMs - modifiedAtMs > maxUnseenAgeMs;
}

/** The process that holds the lock of a path, and whether it still runs, or renews its lock where it cannot be looked up. */
export function readLockHolder(path: string, runtime: LockRuntime & Pick<Runtime, 'now'>) {
  const state = readLockState(`${path}.lock`);
  if (state === 'free') return undefined;
  const { host, pid } = state.holder;
  return { host, pid, isRunning: !isAbandoned(state, runtime.now(), MIN_TAKE_OVER_MS, runtime) };
}

function lockHeldFailure(displayPath: string, holder: LockHolder, runtime: LockRuntime, code: FailureCode): Failure {
  const remedy =
    holder.scope === undefined ? '--resume --take-over 2m' : '--resume, which takes a lock that is not renewed';
  const takeOver = code === 'safety_check' && isElsewhere(holder, runtime) ? `; if it is gone, add ${remedy}` : '';
  const facts = { hint: `wait for that process${takeOver}`, applied: 'no', cause: 'in_use' } as const;
  return new Failure(code, `${displayPath} is in use by ${describeHolder(holder, runtime)}`, facts);
}

function describeHolder(holder: LockHolder, runtime: LockRuntime): string {
  if (holder.pid === 0) return 'another process';
  return `process ${holder.pid}${isElsewhere(holder, runtime) ? ` on ${holder.host}` : ''}`;
}

function sleep(milliseconds: number, { after }: LockRuntime): Promise<void> {
  return new Promise((resolve) => after(milliseconds, resolve));
}
