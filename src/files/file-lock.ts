import { Buffer } from 'node:buffer';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { Failure } from '../errors.ts';
import type { Runtime } from '../runtime.ts';
import { describeFileError, errorCode, isNotFoundError } from './file-errors.ts';

/** A lock that is held; calling it lets go. */
export type Unlock = () => Promise<void>;

/** What locking needs of the world. */
export type LockRuntime = Pick<Runtime, 'pid' | 'host' | 'isRunning' | 'after' | 'elapsed' | 'randomBytes'>;

/** Who holds a lock; `once` is different each time a lock is taken. */
interface LockHolder {
  readonly pid: number;
  readonly host: string;
  readonly nonce: string;
}

// Short enough to take turns quickly, with chance in it so that many who wait do not keep step.
const LOCK_POLL_MS = 10;

// What file systems without hard links say to one.
const LINK_UNSUPPORTED_CODES = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'];

/** A lock that was taken, was let go of in this moment, or is held, by somebody who may not be known. */
type LockAttempt = 'taken' | 'free' | { readonly holder: LockHolder | undefined };

/**
 * Locks a path against other processes by a file beside it that names the process, waiting up to `patience`
 * milliseconds. The lock of a process that is gone is taken over. Throws Failure `local` when it stays held.
 */
export async function acquireLock(
  path: string,
  displayPath: string,
  runtime: LockRuntime,
  timeoutMs = 0,
): Promise<Unlock> {
  const file = `${path}.lock`;
  const deadline = runtime.elapsed() + timeoutMs;
  return describeLockFailure(displayPath, async () => {
    for (;;) {
      const attempt = await tryLock(file, runtime);
      if (attempt === 'taken') return () => describeLockFailure(displayPath, () => rm(file, { force: true }));
      if (attempt === 'free') continue;
      if (isStale(attempt.holder, runtime)) await removeStaleLock(file, attempt.holder, runtime);
      else if (runtime.elapsed() >= deadline) throw lockHeldFailure(displayPath, attempt.holder, runtime);
      else await waitToRetry(runtime);
    }
  });
}

async function tryLock(file: string, { pid, host, randomBytes }: LockRuntime): Promise<LockAttempt> {
  const nonce = Buffer.from(randomBytes(8)).toString('hex');
  try {
    await createWithContent(file, `${pid} ${host} ${nonce}`, `${file}.${nonce}`);
    return 'taken';
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return readLockState(file);
    throw error;
  }
}

// A link appears with its content at once, so a lock is never seen without its holder.
async function createWithContent(file: string, text: string, temporary: string): Promise<void> {
  await writeFile(temporary, text, { flag: 'wx', mode: 0o600 });
  try {
    await link(temporary, file);
  } catch (error) {
    if (!LINK_UNSUPPORTED_CODES.includes(errorCode(error) ?? '')) throw error;
    await writeFile(file, text, { flag: 'wx', mode: 0o600 });
  } finally {
    await rm(temporary, { force: true });
  }
}

// Whoever removes a lock first locks its removal, by the name only this lock ever had: so nobody can remove the lock
// that somebody else has taken in the meantime.
async function removeStaleLock(file: string, holder: LockHolder, runtime: LockRuntime): Promise<void> {
  const removalLock = `${file}.${holder.nonce}.gone`;
  const attempt = await tryLock(removalLock, runtime);
  if (attempt === 'taken') {
    const state = await readLockState(file);
    if (state !== 'free' && state.holder?.nonce === holder.nonce) await rm(file, { force: true });
    await rm(removalLock, { force: true });
  } else if (attempt !== 'free' && isStale(attempt.holder, runtime))
    await removeStaleLock(removalLock, attempt.holder, runtime);
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
  const [, pid, host, nonce] = /^(\d+) (\S+) (\w+)$/.exec(text) ?? [];
  return host && nonce ? { pid: Number(pid), host, nonce } : undefined;
}

// A lock of another machine, in a folder that is shared, cannot be judged from here.
function isStale(holder: LockHolder | undefined, { host, isRunning }: LockRuntime): holder is LockHolder {
  return holder !== undefined && holder.host === host && !isRunning(holder.pid);
}

function lockHeldFailure(displayPath: string, holder: LockHolder | undefined, { host }: LockRuntime): Failure {
  const who = holder ? `process ${holder.pid}${holder.host === host ? '' : ` on ${holder.host}`}` : 'another process';
  return new Failure('local', `${displayPath} is in use by ${who}`, {
    hint: `if that is not so, remove ${displayPath}.lock`,
  });
}

function waitToRetry({ after, randomBytes }: LockRuntime): Promise<void> {
  const [jitter = 0] = randomBytes(1);
  return new Promise((resolve) => after(LOCK_POLL_MS * (1 + jitter / 256), resolve));
}

async function describeLockFailure<T>(displayPath: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw error instanceof Failure
      ? error
      : new Failure('local', `cannot lock ${displayPath}: ${describeFileError(error)}`);
  }
}
