import { chmod, open, readdir, readFile, stat } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import Conf from 'conf';
import { Failure } from '../errors.ts';
import { describeFileError } from '../files/file-errors.ts';
import { acquireLock, type LockRuntime } from '../files/file-lock.ts';
import { makeDirectory } from '../files/make-directory.ts';
import { renameDurably, resolveSymlinks } from '../files/rename-durably.ts';
import { configDirectory, type DirectoryContext } from './directories.ts';
import type { ProfileStore } from './profile.ts';
import { profileStorePath, readProfiles } from './read-profiles.ts';
import { profileStagingPath, removeStaleFiles } from './stale-files.ts';

const DIRECTORY_MODE = 0o700;
const FILE_MODE = 0o600;

// Long enough for hundreds of saves that came first.
const STORE_LOCK_TIMEOUT_MS = 60_000;

/**
 * Changes the stored profiles to what `change` makes of them, one process at a time; file and folder are for the
 * owner's eyes only, whatever the umask. `change` may run twice: what it refuses is refused before anything is made or
 * waited for. Throws Failure `local` where the store is broken or cannot be written; then the old one stays.
 */
export async function updateProfiles(
  runtime: DirectoryContext & LockRuntime,
  update: (profiles: ProfileStore) => ProfileStore,
): Promise<void> {
  const directory = configDirectory(runtime);
  const path = profileStorePath(directory);
  update(await readProfiles(runtime));
  const store = await withWriteFailure(path, async () => {
    await prepareDirectory(directory);
    return resolveSymlinks(path);
  });
  const unlock = await acquireLock(store, path, runtime, STORE_LOCK_TIMEOUT_MS);
  try {
    const next = update(await readProfiles(runtime));
    await withWriteFailure(path, () => saveStore(next, store));
  } finally {
    await unlock();
  }
}

// conf writes beside the store, never over it: what it does where a rename fails, or a disk takes half of a write, must
// not happen to the only copy.
async function saveStore(next: ProfileStore, store: string): Promise<void> {
  await removeStaleFiles(store);
  const stagingPath = profileStagingPath(store);
  try {
    const conf = new Conf<Record<string, unknown>>({
      cwd: dirname(stagingPath),
      configName: basename(stagingPath),
      fileExtension: '',
      configFileMode: FILE_MODE,
      serialize: serializeProfiles,
      // A dot in the name of a profile is part of the name.
      accessPropertiesByDotNotation: false,
    });
    conf.store = { ...next };
    if ((await readFile(stagingPath, 'utf8')) !== serializeProfiles(next))
      throw new Error('the disk took only a part of it');
    await chmod(stagingPath, FILE_MODE);
    const handle = await open(stagingPath, 'r+');
    await handle.sync().finally(() => handle.close());
    await renameDurably(stagingPath, store);
  } catch (error) {
    // The first failure is the one to tell; what cannot be removed now is removed by the next command.
    await removeStaleFiles(store).catch(() => {});
    throw error;
  }
}

function serializeProfiles(profiles: object): string {
  return `${JSON.stringify(profiles, undefined, 2)}\n`;
}

// A folder that holds other things is not ours to close: SVC_CONFIG_DIR may be somebody's home or /tmp.
async function prepareDirectory(directory: string): Promise<void> {
  if (await makeDirectory(directory, DIRECTORY_MODE)) return chmod(directory, DIRECTORY_MODE);
  const others = (await readdir(directory)).filter((name) => !name.startsWith('config.json'));
  if (others.length === 0) await chmod(directory, (await stat(directory)).mode & DIRECTORY_MODE);
}

async function withWriteFailure<T>(path: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw new Failure('local', `cannot write ${path}: ${describeFileError(error)}`);
  }
}
