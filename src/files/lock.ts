import { randomBytes } from 'node:crypto';
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { Failure } from '../errors.ts';
import type { Runtime } from '../runtime.ts';
import { errorCode, fileReason } from './reason.ts';

/** A lock that is held; calling it lets go. */
export type Unlock = () => Promise<void>;

/**
 * Locks a path against other processes by a file beside it that names the process; a lock whose process is gone is
 * taken over. Throws Failure `local` at once when another process holds it: what it does may take minutes.
 */
export async function lock(
  path: string,
  typed: string,
  { pid, isRunning }: Pick<Runtime, 'pid' | 'isRunning'>,
): Promise<Unlock> {
  const file = `${path}.lock`;
  for (;;) {
    if (await tryLock(file, typed, pid)) return () => rm(file, { force: true });
    const holder = await holderOf(file);
    if (holder !== undefined && isRunning(holder)) {
      throw new Failure('local', `${typed} is in use by process ${holder}`, {
        hint: `if that is not so, remove ${typed}.lock`,
      });
    }
    await removeStale(file, holder);
  }
}

// A link appears with its content at once, so a lock is never seen without its holder.
async function tryLock(file: string, typed: string, pid: number): Promise<boolean> {
  const own = uniqueName(file);
  try {
    await writeFile(own, String(pid), { flag: 'wx', mode: 0o600 });
    await link(own, file);
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw new Failure('local', `cannot lock ${typed}: ${fileReason(error)}`);
  } finally {
    await rm(own, { force: true });
  }
}

// Moved away before it is removed: what was moved may already be the lock of somebody else, and then goes back.
async function removeStale(file: string, holder: number | undefined): Promise<void> {
  const moved = uniqueName(file);
  try {
    await rename(file, moved);
  } catch {
    return;
  }
  if ((await holderOf(moved)) !== holder) await link(moved, file).catch(() => {});
  await rm(moved, { force: true });
}

async function holderOf(file: string): Promise<number | undefined> {
  try {
    return Number.parseInt(await readFile(file, 'utf8'), 10) || undefined;
  } catch {
    return undefined;
  }
}

function uniqueName(file: string): string {
  return `${file}.${randomBytes(6).toString('hex')}`;
}
