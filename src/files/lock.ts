import { randomBytes } from 'node:crypto';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { Failure } from '../errors.ts';
import type { Runtime } from '../runtime.ts';
import { errorCode, fileReason, isMissing } from './reason.ts';

/** A lock that is held; calling it lets go. */
export type Unlock = () => Promise<void>;

/** What locking needs of the world. */
export type LockWorld = Pick<Runtime, 'pid' | 'isRunning' | 'after' | 'elapsed'>;

/** Who holds a lock; `once` is different each time a lock is taken. */
interface Holder {
  readonly pid: number;
  readonly host: string;
  readonly once: string;
}

// Short enough to take turns quickly, with chance in it so that many who wait do not keep step.
const PAUSE = 10;

type Tried = { readonly isTaken: true } | { readonly isTaken: false; readonly holder: Holder | undefined };

/**
 * Locks a path against other processes by a file beside it that names the process, waiting up to `patience`
 * milliseconds. The lock of a process that is gone is taken over. Throws Failure `local` when it stays held.
 */
export async function lock(path: string, typed: string, world: LockWorld, patience = 0): Promise<Unlock> {
  const file = `${path}.lock`;
  const deadline = world.elapsed() + patience;
  try {
    for (;;) {
      const tried = await tryLock(file, world);
      if (tried.isTaken) return () => rm(file, { force: true });
      if (isGone(tried.holder, world)) await removeLock(file, tried.holder, world);
      else if (world.elapsed() >= deadline) throw inUse(typed, tried.holder);
      else await pause(world);
    }
  } catch (error) {
    throw error instanceof Failure ? error : new Failure('local', `cannot lock ${typed}: ${fileReason(error)}`);
  }
}

// A link appears with its content at once, so a lock is never seen without its holder.
async function tryLock(file: string, { pid }: LockWorld): Promise<Tried> {
  const once = randomBytes(8).toString('hex');
  const own = `${file}.${once}`;
  const holder: Holder = { pid, host: hostname(), once };
  await writeFile(own, `${holder.pid} ${holder.host} ${once}`, { flag: 'wx', mode: 0o600 });
  try {
    await link(own, file);
    return { isTaken: true };
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return { isTaken: false, holder: await holderOf(file) };
    throw error;
  } finally {
    await rm(own, { force: true });
  }
}

// Whoever removes a lock first locks its removal, by the name only this lock ever had: so nobody can remove the lock
// that somebody else has taken in the meantime.
async function removeLock(file: string, holder: Holder, world: LockWorld): Promise<void> {
  const removal = `${file}.${holder.once}.gone`;
  const tried = await tryLock(removal, world);
  if (!tried.isTaken) {
    if (isGone(tried.holder, world)) await removeLock(removal, tried.holder, world);
    return;
  }
  if ((await holderOf(file))?.once === holder.once) await rm(file, { force: true });
  await rm(removal, { force: true });
}

async function holderOf(file: string): Promise<Holder | undefined> {
  try {
    return readHolder(await readFile(file, 'utf8'));
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function readHolder(text: string): Holder | undefined {
  const [, pid, host, once] = /^(\d+) (\S+) (\w+)$/.exec(text) ?? [];
  return host && once ? { pid: Number(pid), host, once } : undefined;
}

// A lock of another machine, in a folder that is shared, cannot be judged from here.
function isGone(holder: Holder | undefined, { isRunning }: LockWorld): holder is Holder {
  return holder !== undefined && holder.host === hostname() && !isRunning(holder.pid);
}

function inUse(typed: string, holder: Holder | undefined): Failure {
  const who = holder
    ? `process ${holder.pid}${holder.host === hostname() ? '' : ` on ${holder.host}`}`
    : 'another process';
  return new Failure('local', `${typed} is in use by ${who}`, { hint: `if that is not so, remove ${typed}.lock` });
}

function pause({ after }: LockWorld): Promise<void> {
  return new Promise((resolve) => after(PAUSE * (1 + Math.random()), resolve));
}
