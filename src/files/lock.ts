import { Buffer } from 'node:buffer';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { Failure } from '../errors.ts';
import type { Runtime } from '../runtime.ts';
import { errorCode, fileReason, isMissing } from './reason.ts';

/** A lock that is held; calling it lets go. */
export type Unlock = () => Promise<void>;

/** What locking needs of the world. */
export type LockWorld = Pick<Runtime, 'pid' | 'host' | 'isRunning' | 'after' | 'elapsed' | 'randomBytes'>;

/** Who holds a lock; `once` is different each time a lock is taken. */
interface Holder {
  readonly pid: number;
  readonly host: string;
  readonly once: string;
}

// Short enough to take turns quickly, with chance in it so that many who wait do not keep step.
const PAUSE = 10;

// What file systems without hard links say to one.
const NO_LINKS = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'];

/** A lock that was taken, was let go of in this moment, or is held, by somebody who may not be known. */
type Tried = 'taken' | 'free' | { readonly holder: Holder | undefined };

/**
 * Locks a path against other processes by a file beside it that names the process, waiting up to `patience`
 * milliseconds. The lock of a process that is gone is taken over. Throws Failure `local` when it stays held.
 */
export async function lock(path: string, typed: string, world: LockWorld, patience = 0): Promise<Unlock> {
  const file = `${path}.lock`;
  const deadline = world.elapsed() + patience;
  return guarded(typed, async () => {
    for (;;) {
      const tried = await tryLock(file, world);
      if (tried === 'taken') return () => guarded(typed, () => rm(file, { force: true }));
      if (tried === 'free') continue;
      if (isGone(tried.holder, world)) await removeLock(file, tried.holder, world);
      else if (world.elapsed() >= deadline) throw inUse(typed, tried.holder, world);
      else await pause(world);
    }
  });
}

async function tryLock(file: string, { pid, host, randomBytes }: LockWorld): Promise<Tried> {
  const once = Buffer.from(randomBytes(8)).toString('hex');
  try {
    await createWhole(file, `${pid} ${host} ${once}`, `${file}.${once}`);
    return 'taken';
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return stateOf(file);
    throw error;
  }
}

// A link appears with its content at once, so a lock is never seen without its holder.
async function createWhole(file: string, text: string, own: string): Promise<void> {
  await writeFile(own, text, { flag: 'wx', mode: 0o600 });
  try {
    await link(own, file);
  } catch (error) {
    if (!NO_LINKS.includes(errorCode(error) ?? '')) throw error;
    await writeFile(file, text, { flag: 'wx', mode: 0o600 });
  } finally {
    await rm(own, { force: true });
  }
}

// Whoever removes a lock first locks its removal, by the name only this lock ever had: so nobody can remove the lock
// that somebody else has taken in the meantime.
async function removeLock(file: string, holder: Holder, world: LockWorld): Promise<void> {
  const removal = `${file}.${holder.once}.gone`;
  const tried = await tryLock(removal, world);
  if (tried === 'taken') {
    const state = await stateOf(file);
    if (state !== 'free' && state.holder?.once === holder.once) await rm(file, { force: true });
    await rm(removal, { force: true });
  } else if (tried !== 'free' && isGone(tried.holder, world)) await removeLock(removal, tried.holder, world);
}

async function stateOf(file: string): Promise<Exclude<Tried, 'taken'>> {
  try {
    return { holder: readHolder(await readFile(file, 'utf8')) };
  } catch (error) {
    if (isMissing(error)) return 'free';
    throw error;
  }
}

function readHolder(text: string): Holder | undefined {
  const [, pid, host, once] = /^(\d+) (\S+) (\w+)$/.exec(text) ?? [];
  return host && once ? { pid: Number(pid), host, once } : undefined;
}

// A lock of another machine, in a folder that is shared, cannot be judged from here.
function isGone(holder: Holder | undefined, { host, isRunning }: LockWorld): holder is Holder {
  return holder !== undefined && holder.host === host && !isRunning(holder.pid);
}

function inUse(typed: string, holder: Holder | undefined, { host }: LockWorld): Failure {
  const who = holder ? `process ${holder.pid}${holder.host === host ? '' : ` on ${holder.host}`}` : 'another process';
  return new Failure('local', `${typed} is in use by ${who}`, { hint: `if that is not so, remove ${typed}.lock` });
}

function pause({ after, randomBytes }: LockWorld): Promise<void> {
  const [chance = 0] = randomBytes(1);
  return new Promise((resolve) => after(PAUSE * (1 + chance / 256), resolve));
}

async function guarded<T>(typed: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw error instanceof Failure ? error : new Failure('local', `cannot lock ${typed}: ${fileReason(error)}`);
  }
}
