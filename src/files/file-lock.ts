import { Buffer } from 'node:buffer';
import { link, open, readFile, rm, writeFile } from 'node:fs/promises';
import { Failure, type FailureCode } from '../errors.ts';
import type { Runtime } from '../runtime.ts';
import { errorCode, isNotFoundError, withFileFailure } from './file-errors.ts';

type Unlock = () => Promise<void>;

export type LockRuntime = Pick<
  Runtime,
  'pid' | 'host' | 'isRunning' | 'processStart' | 'after' | 'elapsed' | 'uptime' | 'randomBytes'
>;

/** The process that has a lock, from the text of its file. */
interface LockHolder {
  readonly text: string;
  readonly pid: number;
  readonly host: string;
  readonly nonce: string;
  readonly start: string | undefined;
}

// Short, so that waiting processes take turns quickly.
const LOCK_POLL_MS = 10;

const LINK_UNSUPPORTED_CODES = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'];

// Taken, just released by another process, or held; the holder can be unknown.
type LockAttempt = 'taken' | 'free' | { readonly holder: LockHolder | undefined };

/** Locks a path by a file beside it, waiting up to `timeoutMs`. The lock of a process that ended is taken over. Throws a Failure with `code`. */
export async function acquireLock(
  path: string,
  displayPath: string,
  runtime: LockRuntime,
  timeoutMs = 0,
  code: FailureCode = 'local_file',
): Promise<Unlock> {
  const file = `${path}.lock`;
  const deadline = runtime.elapsed() + timeoutMs;
  return withFileFailure(`lock ${displayPath}`, async () => {
    for (;;) {
      const attempt = await tryLock(file, runtime);
      if (attempt === 'taken') return () => withFileFailure(`lock ${displayPath}`, () => rm(file, { force: true }));
      if (attempt === 'free') continue;
      if (isStale(attempt.holder, runtime)) await removeLock(file, attempt.holder, runtime);
      else if (runtime.elapsed() >= deadline) throw lockHeldFailure(displayPath, attempt.holder, runtime, code);
      else await sleep(LOCK_POLL_MS, runtime);
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
  readonly release: () => Promise<void>;
}

/**
 * Locks a path as acquireLock does, and renews the lock every 10 s while the process runs. With `takeOverMs`, the lock of another machine is
 * taken once its file stayed unchanged for that time on the clock of this one. Throws Failure `safety_check` when it is held.
 */
export async function acquireLease(
  path: string,
  displayPath: string,
  runtime: LockRuntime,
  takeOverMs?: number,
): Promise<Lease> {
  const file = `${path}.lock`;
  const unlock = await acquireLock(path, displayPath, runtime, 0, 'safety_check').catch(async (error: unknown) => {
    const state = await readLockState(file);
    if (takeOverMs === undefined || state === 'free' || !state.holder || state.holder.host === runtime.host)
      throw error;
    if (!(await staysUnchanged(file, state.holder.text, runtime, takeOverMs))) throw error;
    await removeLock(file, state.holder, runtime);
    return acquireLock(path, displayPath, runtime, 0, 'safety_check');
  });
  return renewLock(file, displayPath, runtime, unlock);
}

async function staysUnchanged(file: string, text: string, runtime: LockRuntime, limitMs: number): Promise<boolean> {
  const start = runtime.elapsed();
  while (runtime.elapsed() - start < limitMs) {
    await sleep(TAKE_OVER_POLL_MS, runtime);
    const state = await readLockState(file);
    if (state === 'free' || state.holder?.text !== text) return state === 'free';
  }
  return true;
}

// Through the file that was created: once another process has replaced it, a renewal changes nothing.
async function renewLock(file: string, displayPath: string, runtime: LockRuntime, unlock: Unlock): Promise<Lease> {
  const { after, uptime } = runtime;
  const handle = await withFileFailure(`lock ${displayPath}`, () => open(file, 'r+'));
  const { size } = await handle.stat();
  let renewedAt = uptime();
  let count = 0;
  let isLost = false;
  let isReleased = false;
  let cancel = (): void => {};
  // An age that was reached once stays: the process may have been stopped in between.
  const isHeld = (): boolean => {
    isLost ||= uptime() - renewedAt > MAX_RENEWAL_AGE_MS;
    return !isLost;
  };
  const renew = async (): Promise<void> => {
    if (!isHeld()) return;
    const startedAt = uptime();
    count += 1;
    await handle.write(`\n${String(count).padStart(RENEWAL_COUNT_DIGITS, '0')}`, size);
    await handle.datasync();
    if (isHeld()) renewedAt = startedAt;
  };
  const schedule = (): void => {
    // A renewal may still run when the lease is released.
    if (isReleased) return;
    // A file system that fails now may work in time; otherwise the lease is lost.
    cancel = after(
      RENEWAL_MS,
      () =>
        void renew()
          .catch(() => {})
          .finally(schedule),
    );
  };
  schedule();
  return {
    requireHeld: () => {
      if (isHeld()) return;
      throw new Failure(
        'safety_check',
        `the lock of ${displayPath} could not be renewed for ${MAX_RENEWAL_AGE_MS / 1000} s, so another process may have taken the batch over`,
        { hint: 'nothing more is sent; continue with --resume, if no other process does', applied: 'no' },
      );
    },
    release: async () => {
      isReleased = true;
      cancel();
      await handle.close();
      if (isHeld()) await unlock();
    },
  };
}

async function tryLock(file: string, { pid, host, processStart, randomBytes }: LockRuntime): Promise<LockAttempt> {
  const nonce = Buffer.from(randomBytes(8)).toString('hex');
  const text = [pid, host, nonce, processStart(pid) ?? ''].join(' ').trimEnd();
  try {
    await createWithContent(file, text, `${file}.${nonce}`);
    return 'taken';
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return readLockState(file);
    throw error;
  }
}

// A link appears together with its content, so a lock file is never empty.
async function createWithContent(file: string, text: string, temporary: string): Promise<void> {
  try {
    await writeFile(temporary, text, { flag: 'wx', mode: 0o600 });
    await link(temporary, file);
  } catch (error) {
    if (!LINK_UNSUPPORTED_CODES.includes(errorCode(error) ?? '')) throw error;
    await writeFile(file, text, { flag: 'wx', mode: 0o600 });
  } finally {
    await rm(temporary, { force: true });
  }
}

// A process that removes a lock first takes a second one, whose name contains the nonce of the first. So it cannot remove
// a lock that another process has taken in the meantime, or that was renewed.
async function removeLock(file: string, holder: LockHolder, runtime: LockRuntime): Promise<void> {
  const removalLock = `${file}.${holder.nonce}.gone`;
  const attempt = await tryLock(removalLock, runtime);
  if (attempt === 'taken') {
    const state = await readLockState(file);
    if (state !== 'free' && state.holder?.text === holder.text) await rm(file, { force: true });
    await rm(removalLock, { force: true });
  } else if (attempt !== 'free' && isStale(attempt.holder, runtime))
    await removeLock(removalLock, attempt.holder, runtime);
}

async function readLockState(file: string): Promise<Exclude<LockAttempt, 'taken'>> {
  try {
    return { holder: readHolder(await readFile(file, 'utf8')) };
  } catch (error) {
    if (isNotFoundError(error)) return 'free';
    throw error;
  }
}

function readHolder(text: string): LockHolder | undefined {
  const [, pid, host, nonce, start] = /^(\d+) (\S+) (\w+)(?: (\S+))?(?:\n\d*)?$/.exec(text) ?? [];
  return host && nonce ? { text, pid: Number(pid), host, nonce, start } : undefined;
}

// A process that started at another time than the holder has only the same id.
function isStale(holder: LockHolder | undefined, { host, isRunning, processStart }: LockRuntime): holder is LockHolder {
  if (holder?.host !== host) return false;
  return !isRunning(holder.pid) || (holder.start !== undefined && processStart(holder.pid) !== holder.start);
}

function lockHeldFailure(
  displayPath: string,
  holder: LockHolder | undefined,
  { host }: LockRuntime,
  code: FailureCode,
): Failure {
  const isRemote = holder !== undefined && holder.host !== host;
  const who = holder ? `process ${holder.pid}${isRemote ? ` on ${holder.host}` : ''}` : 'another process';
  const remedy =
    code === 'safety_check' && isRemote
      ? 'if its machine is gone, add --resume --take-over 2m'
      : `if it no longer runs, remove ${displayPath}.lock`;
  const hint = `wait for that process; ${remedy}`;
  return new Failure(code, `${displayPath} is in use by ${who}`, { hint, applied: 'no' });
}

function sleep(milliseconds: number, { after }: LockRuntime): Promise<void> {
  return new Promise((resolve) => after(milliseconds, resolve));
}
