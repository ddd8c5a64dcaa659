import { chmod, open, readdir, readFile, stat } from 'node:fs/promises';
import { withFileFailure } from '../files/file-errors.ts';
import { acquireLock } from '../files/file-lock.ts';
import { makeDirectory, renameDurably, resolveSymlinks } from '../files/file-replacement.ts';
import { configDirectory } from './directories.ts';
import type { ProfileStore } from './profile.ts';
import {
  type ConfigContext,
  profileStagingPath,
  profileStorePath,
  readProfiles,
  removeStaleFiles,
} from './read-profiles.ts';

const DIRECTORY_MODE = 0o700;
const FILE_MODE = 0o600;

// Long enough for hundreds of earlier saves.
const STORE_LOCK_TIMEOUT_MS = 60_000;

/**
 * Changes the stored profiles to the result of `update`, one process at a time, in a file of mode 0600 whatever the
 * umask. `update` can run twice, so that its errors are thrown before any file is created or locked. Throws
 * Failure `local_file` if the store is invalid or cannot be written; the old store is kept then.
 */
export async function updateProfiles(
  context: ConfigContext,
  update: (profiles: ProfileStore) => ProfileStore,
): Promise<void> {
  const { runtime } = context;
  const directory = configDirectory(runtime);
  const path = profileStorePath(directory);
  update(await readProfiles(context));
  const withWriteFailure = <T>(run: () => Promise<T>): Promise<T> =>
    withFileFailure(`write ${path}`, run, { hint: 'set SVC_CONFIG_DIR to another directory' });
  const store = await withWriteFailure(() => prepareDirectory(directory).then(() => resolveSymlinks(path)));
  const unlock = await acquireLock(store, path, runtime, STORE_LOCK_TIMEOUT_MS);
  try {
    const next = update(await readProfiles(context));
    await withWriteFailure(() => saveStore(next, store));
  } finally {
    await unlock();
  }
}

// conf writes beside the store, never over it: a failed rename or a partial write must not damage the only copy.
async function saveStore(next: ProfileStore, store: string): Promise<void> {
  const { openStoreFile, serializeStore } = await import('./profile-conf.ts');
  await removeStaleFiles(store);
  const stagingPath = profileStagingPath(store);
  try {
    openStoreFile(stagingPath, JSON.parse).store = { ...next };
    if ((await readFile(stagingPath, 'utf8')) !== serializeStore(next))
      throw new Error('only part of the file was written');
    await chmod(stagingPath, FILE_MODE);
    const handle = await open(stagingPath, 'r+');
    await handle.sync().finally(() => handle.close());
    await renameDurably(stagingPath, store);
  } catch (error) {
    // The first failure is the one to report; the next command removes what cannot be removed now.
    await removeStaleFiles(store).catch(() => {});
    throw error;
  }
}

// A directory with other files keeps its mode: SVC_CONFIG_DIR may be a home directory or /tmp.
async function prepareDirectory(directory: string): Promise<void> {
  if (await makeDirectory(directory, DIRECTORY_MODE)) return chmod(directory, DIRECTORY_MODE);
  const others = (await readdir(directory)).filter((name) => !name.startsWith('config.json'));
  if (others.length === 0) await chmod(directory, (await stat(directory)).mode & DIRECTORY_MODE);
}
