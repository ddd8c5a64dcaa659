import { readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { linkTarget } from '../files/durable.ts';
import { type LockWorld, lock } from '../files/lock.ts';

/** Where the next version of a store is written before it takes the place of the store. */
export function stageOf(store: string): string {
  return `${store}.next`;
}

/** Removes what saves that were killed left beside a store, where secrets may be in it. For whoever holds the store's lock. */
export async function removeLeftovers(store: string): Promise<void> {
  for (const path of await leftoversOf(store)) await rm(path, { force: true });
}

/** Removes leftovers if there are any and nobody is saving. Never fails: the next save removes them too, and says why it cannot. */
export async function tidy(path: string, world: LockWorld): Promise<void> {
  try {
    const store = await linkTarget(path);
    if ((await leftoversOf(store)).length === 0) return;
    const unlock = await lock(store, path, world);
    await removeLeftovers(store).finally(unlock);
  } catch {
    // Somebody is saving, or the folder cannot be read or changed.
  }
}

// Stages, what conf calls its own temporary files, and those of earlier versions of svc.
async function leftoversOf(store: string): Promise<string[]> {
  const [folder, name] = [dirname(store), basename(store)];
  const isLeftover = (entry: string): boolean =>
    [stageOf(name), `${name}.tmp-`].some((start) => entry.startsWith(start));
  return (await readdir(folder)).filter(isLeftover).map((entry) => join(folder, entry));
}
