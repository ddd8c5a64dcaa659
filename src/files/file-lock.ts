import { Buffer } from 'node:buffer';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { Failure, type FailureCode } from '../errors.ts';
import type { Runtime } from '../runtime.ts';
import { errorCode, isNotFoundError, withFileFailure } from './file-errors.ts';

export type Unlock = () => Promise<void>;

export type LockRuntime = Pick<
  Runtime,
  'pid' | 'host' | 'isRunning' | 'processStart' | 'after' | 'elapsed' | 'randomBytes'
>;

/** Who holds a lock; each lock has a `nonce` of its own. */
interface LockHolder {
  readonly pid: number;
  readonly host: string;
  readonly nonce: string;
  /** When the process started; undefined if the system does not report it. */
  readonly start: string | undefined;
}

// Short, so that waiting processes take turns quickly; jitter keeps them apart.
const LOCK_POLL_MS = 10;

// Errors of file systems without hard links.
const LINK_UNSUPPORTED_CODES = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'];

/** The result of an attempt to take a lock: taken, just released by another process, or held; the holder can be unknown. */
type LockAttempt = 'taken' | 'free' | { readonly holder: LockHolder | undefined };

/**
 * Locks a path against other processes by a file beside it that names the process, waiting up to `timeoutMs`. The lock of
 * a process that ended is taken over, even if another process has its id now. Throws a Failure with `code` when the
 * lock stays held.
 */
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
      if (isStale(attempt.holder, runtime)) await removeStaleLock(file, attempt.holder, runtime);
      else if (runtime.elapsed() >= deadline) throw lockHeldFailure(displayPath, attempt.holder, runtime, code);
      else await waitToRetry(runtime);
    }
  });
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

// A process that removes a stale lock first takes a second lock, whose name contains the nonce of the stale one. So it
// cannot remove a lock that another process has taken in the meantime.
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
  const [, pid, host, nonce, start] = /^(\d+) (\S+) (\w+)(?: (\S+))?$/.exec(text) ?? [];
  return host && nonce ? { pid: Number(pid), host, nonce, start } : undefined;
}

// In a shared directory, svc cannot check processes of other machines. A process that started at
// another time than the holder has only the same id.
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
  const who = holder ? `process ${holder.pid}${holder.host === host ? '' : ` on ${holder.host}`}` : 'another process';
  return new Failure(code, `${displayPath} is in use by ${who}`, {
    hint: `wait for that process; if it no longer runs, remove ${displayPath}.lock`,
    applied: 'no',
  });
}

function waitToRetry({ after, randomBytes }: LockRuntime): Promise<void> {
  const [jitter = 0] = randomBytes(1);
  return new Promise((resolve) => after(LOCK_POLL_MS * (1 + jitter / 256), resolve));
}
