import { readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { acquireLock, type LockRuntime } from '../files/file-lock.ts';
import { resolveSymlinks } from '../files/rename-durably.ts';

/** Where the next version of a store is written before it takes the place of the store. */
export function profileStagingPath(store: string): string {
  return `${store}.next`;
}

/** Removes what saves that were killed left beside a store, where secrets may be in it. For whoever holds the store's lock. */
export async function removeStaleFiles(store: string): Promise<void> {
  for (const path of await findStaleFiles(store)) await rm(path, { force: true });
}

/** Removes leftovers if there are any and nobody is saving. Never fails: the next save removes them too, and says why it cannot. */
export async function removeStaleFilesIfIdle(path: string, world: LockRuntime): Promise<void> {
  try {
    const store = await resolveSymlinks(path);
    if ((await findStaleFiles(store)).length === 0) return;
    const unlock = await acquireLock(store, path, world);
    await removeStaleFiles(store).finally(unlock);
  } catch {
    // Somebody is saving, or the folder cannot be read or changed.
  }
}

// Stages, what conf calls its own temporary files, and those of earlier versions of svc.
async function findStaleFiles(store: string): Promise<string[]> {
  const [folder, name] = [dirname(store), basename(store)];
  const isStale = (entry: string): boolean =>
    [profileStagingPath(name), `${name}.tmp-`].some((start) => entry.startsWith(start));
  return (await readdir(folder)).filter(isStale).map((entry) => join(folder, entry));
}
