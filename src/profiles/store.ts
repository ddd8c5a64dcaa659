import { chmod, open, readdir, readFile, stat } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import Conf from 'conf';
import { Failure } from '../errors.ts';
import { linkTarget, renameDurably } from '../files/durable.ts';
import { makeFolder } from '../files/folder.ts';
import { type LockWorld, lock } from '../files/lock.ts';
import { fileReason } from '../files/reason.ts';
import { configFolder, type Where } from './folders.ts';
import { removeLeftovers, stageOf } from './leftovers.ts';
import type { Profiles } from './profile.ts';
import { readProfiles, storeFile } from './read.ts';

const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

// Long enough for hundreds of saves that came first.
const PATIENCE = 60_000;

/**
 * Changes the stored profiles to what `change` makes of them, one process at a time; file and folder are for the
 * owner's eyes only, whatever the umask. `change` may run twice: what it refuses is refused before anything is made or
 * waited for. Throws Failure `local` where the store is broken or cannot be written; then the old one stays.
 */
export async function changeProfiles(
  runtime: Where & LockWorld,
  change: (profiles: Profiles) => Profiles,
): Promise<void> {
  const folder = configFolder(runtime);
  const path = storeFile(folder);
  change(await readProfiles(runtime));
  const store = await guarded(path, async () => {
    await prepareFolder(folder);
    return linkTarget(path);
  });
  const unlock = await lock(store, path, runtime, PATIENCE);
  try {
    const next = change(await readProfiles(runtime));
    await guarded(path, () => save(next, store));
  } finally {
    await unlock();
  }
}

// conf writes beside the store, never over it: what it does where a rename fails, or a disk takes half of a write, must
// not happen to the only copy.
async function save(next: Profiles, store: string): Promise<void> {
  await removeLeftovers(store);
  const stage = stageOf(store);
  try {
    const conf = new Conf<Record<string, unknown>>({
      cwd: dirname(stage),
      configName: basename(stage),
      fileExtension: '',
      configFileMode: FILE_MODE,
      serialize: textOf,
      // A dot in the name of a profile is part of the name.
      accessPropertiesByDotNotation: false,
    });
    conf.store = { ...next };
    if ((await readFile(stage, 'utf8')) !== textOf(next)) throw new Error('the disk took only a part of it');
    await chmod(stage, FILE_MODE);
    const handle = await open(stage, 'r+');
    await handle.sync().finally(() => handle.close());
    await renameDurably(stage, store);
  } catch (error) {
    // The first failure is the one to tell; what cannot be removed now is removed by the next command.
    await removeLeftovers(store).catch(() => {});
    throw error;
  }
}

function textOf(profiles: object): string {
  return `${JSON.stringify(profiles, undefined, 2)}\n`;
}

// A folder that holds other things is not ours to close: SVC_CONFIG_DIR may be somebody's home or /tmp.
async function prepareFolder(folder: string): Promise<void> {
  if (await makeFolder(folder, FOLDER_MODE)) return chmod(folder, FOLDER_MODE);
  const others = (await readdir(folder)).filter((name) => !name.startsWith('config.json'));
  if (others.length === 0) await chmod(folder, (await stat(folder)).mode & FOLDER_MODE);
}

async function guarded<T>(path: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw new Failure('local', `cannot write ${path}: ${fileReason(error)}`);
  }
}
