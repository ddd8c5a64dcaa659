import { readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { acquireLock, type LockRuntime } from '../files/file-lock.ts';
import { resolveSymlinks } from '../files/file-replacement.ts';

/** The path of the next version of a store, before it replaces the store. */
export function profileStagingPath(store: string): string {
  return `${store}.next`;
}

/** Removes temporary files of killed saves, which can contain secrets. The caller holds the lock of the store. */
export async function removeStaleFiles(store: string): Promise<void> {
  for (const path of await findStaleFiles(store)) await rm(path, { force: true });
}

/** Removes stale files if no process is saving. Never fails: the next save removes them, too, and reports errors. */
export async function removeStaleFilesIfIdle(path: string, runtime: LockRuntime): Promise<void> {
  try {
    const store = await resolveSymlinks(path);
    if ((await findStaleFiles(store)).length === 0) return;
    const unlock = await acquireLock(store, path, runtime);
    await removeStaleFiles(store).finally(unlock);
  } catch {
    // Another process is saving, or the directory cannot be read or changed.
  }
}

// Staging files, temporary files of conf, and temporary files of earlier versions of svc.
async function findStaleFiles(store: string): Promise<string[]> {
  const [directory, name] = [dirname(store), basename(store)];
  const isStale = (entry: string): boolean =>
    [profileStagingPath(name), `${name}.tmp-`].some((start) => entry.startsWith(start));
  return (await readdir(directory)).filter(isStale).map((entry) => join(directory, entry));
}
