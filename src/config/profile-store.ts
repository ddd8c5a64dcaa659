import { Buffer } from 'node:buffer';
import { chmod, open, readdir, readFile, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Context } from '../context.ts';
import { Failure, usageFailure } from '../errors.ts';
import { formatByteSize } from '../files/byte-size.ts';
import { errorCode, fileFailure, isNotFoundError, withFileFailure } from '../files/file-errors.ts';
import { acquireLock, type LockRuntime } from '../files/file-lock.ts';
import { makeDirectory, renameDurably, resolveSymlinks } from '../files/file-replacement.ts';
import { requireTrustedFile } from '../files/trusted-file.ts';
import { JsonError } from '../json/json-error.ts';
import { parseJson } from '../json/parse-json.ts';
import { positionAt } from '../json/utf8.ts';
import { isRecord } from '../json/write-json.ts';
import type { Reporter } from '../output/reporter.ts';
import type { Runtime } from '../runtime.ts';
import { configDirectory } from './environment.ts';
import { type Setting, type StoredSettings, settings } from './settings.ts';

type JsonType = 'a string' | 'an array of strings' | 'an object of strings';

// Beside the settings: the names of entries in the operating system's keychain, which hold the secrets instead, and the
// origins that credentials, headers and command were given for; they are sent to no other. `open_origins` need no credential.
const bindingTypes = {
  password_key: 'a string',
  token_key: 'a string',
  basic_origins: 'an array of strings',
  bearer_origins: 'an array of strings',
  open_origins: 'an array of strings',
  header_origins: 'an array of strings',
  basic_command_origins: 'an array of strings',
  bearer_command_origins: 'an array of strings',
} as const satisfies Record<string, JsonType>;

/** A stored profile. Names are those of the file. */
export type Profile = StoredSettings & {
  readonly [K in keyof typeof bindingTypes]?: (typeof bindingTypes)[K] extends 'a string' ? string : readonly string[];
};

// A type, because an interface is no Record, which a store of files holds.
export type ProfileStore = {
  readonly current?: string;
  readonly profiles: { readonly [name: string]: Profile };
};

export const DEFAULT_PROFILE_NAME = 'default';

export const LOCAL_PROFILE_NAME = 'local';

/** The name, if it can be one; throws usage for names that are malformed or reserved. */
export function parseProfileName(name: string): string {
  const hint = 'use up to 64 letters, digits, _, . and -';
  if (!/^[A-Za-z0-9][\w.-]{0,63}$/.test(name))
    throw usageFailure(`${JSON.stringify(name)} cannot be the name of a profile`, hint);
  if (name === LOCAL_PROFILE_NAME)
    throw usageFailure('the profile "local" is built in and cannot be changed', 'name another profile');
  return name;
}

export function requireStoredProfile({ profiles }: ProfileStore, name: string): void {
  if (!Object.hasOwn(profiles, parseProfileName(name)))
    throw usageFailure(`profile "${name}" does not exist`, 'to list the profiles, run: svc profile list');
}

export function getProfile({ profiles }: ProfileStore, name: string): Profile {
  return (Object.hasOwn(profiles, name) ? profiles[name] : undefined) ?? {};
}

const MAX_STORE_BYTES = 16 * 1024 * 1024;
const DIRECTORY_MODE = 0o700;
const FILE_MODE = 0o600;
// Long enough for hundreds of earlier saves.
const STORE_LOCK_TIMEOUT_MS = 60_000;

export function profileStorePath(runtime: Runtime): string {
  return join(configDirectory(runtime), 'config.json');
}

export type ConfigContext = Pick<Context, 'runtime'> & { readonly report: Pick<Reporter, 'warn' | 'note'> };

/** Throws `local_file` for an invalid store, and `safety_check` for an untrusted one. If it is optional, one that is not readable is a note. */
export async function readProfiles({ runtime, report }: ConfigContext, isOptional = false): Promise<ProfileStore> {
  const path = profileStorePath(runtime);
  await removeStaleFilesIfIdle(path, runtime);
  try {
    await requireTrustedFile(path, { userId: runtime.userId, warn: report.warn });
    const stats = await stat(path);
    // conf reads a file synchronously, which could block without end on a FIFO or a device.
    if (!stats.isFile()) throw invalidStoreFailure(path, 'it is not a regular file');
    if (stats.size > MAX_STORE_BYTES)
      throw invalidStoreFailure(path, `it is larger than ${formatByteSize(MAX_STORE_BYTES)}`);
    const { openStoreFile } = await import('./profile-conf.ts');
    return openStoreFile(path, (text) => parseStore(text, path)).store;
  } catch (error) {
    // Of /dev/null, no profiles are wanted.
    if (errorCode(error) === 'ENOTDIR' && !path.startsWith('/dev/'))
      await report.warn(`there are no profiles in ${path}: a part of the path is not a directory`);
    if (isNotFoundError(error)) return { profiles: {} };
    const failure = fileFailure('read the profiles in', path, error);
    if (!isOptional || failure === error) throw failure;
    await report.note(`${failure.message}; svc uses the environment alone`);
    return { profiles: {} };
  }
}

// JSON.parse would quote the text in its errors, and the text may hold secrets.
function parseStore(text: string, path: string): ProfileStore {
  if (text.includes('\ufffd')) throw invalidStoreFailure(path, 'invalid UTF-8');
  try {
    const value: unknown = JSON.parse(parseJson(Buffer.from(text)).bytes.toString());
    const problem = isRecord(value) ? storeProblem(value) : '';
    if (problem === undefined) return { profiles: {}, ...(value as object) };
    throw invalidStoreFailure(path, `it does not hold profiles${problem && `: ${problem}`}`);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    const { line, column } = positionAt(Buffer.from(text), error.offset);
    throw invalidStoreFailure(path, `${error.message} (line ${line}, column ${column})`);
  }
}

function invalidStoreFailure(path: string, why: string): Failure {
  const hint = 'fix the file, or move it away and log in again; svc does not change it';
  return new Failure('local_file', `the profiles in ${path} cannot be used: ${why}`, { hint });
}

// Names the key and never shows its value. Unknown keys may be of a newer svc.
function storeProblem({ current, profiles = {} }: Record<string, unknown>): string | undefined {
  if (current !== undefined && typeof current !== 'string') return 'current must be a string';
  if (!isRecord(profiles)) return 'profiles must be an object';
  for (const [name, profile] of Object.entries(profiles)) {
    if (!isRecord(profile)) return `the profile ${JSON.stringify(name)} must be an object`;
    for (const [key, type] of [...storedTypes, ...Object.entries(bindingTypes)])
      if (Object.hasOwn(profile, key) && !hasType(type, profile[key]))
        return `${key} of ${JSON.stringify(name)} must be ${type}`;
  }
  return undefined;
}

const storedTypes = settings.flatMap(({ name, kind, isStored }: Setting): [key: string, type: JsonType][] => {
  const ofKind = { command: 'an array of strings', headers: 'an object of strings' } as const;
  return isStored ? [[name, kind === 'command' || kind === 'headers' ? ofKind[kind] : 'a string']] : [];
});

function hasType(type: JsonType, value: unknown): boolean {
  if (type === 'a string') return typeof value === 'string';
  const isContainer = type === 'an array of strings' ? Array.isArray(value) : isRecord(value);
  return isContainer && Object.values(value ?? {}).every((item) => typeof item === 'string');
}

/** One process at a time. `update` may run twice: its errors come before any file is locked. Throws `local_file`, and keeps the old store. */
export async function updateProfiles(
  context: ConfigContext,
  update: (profiles: ProfileStore) => ProfileStore,
): Promise<{ readonly before: ProfileStore; readonly after: ProfileStore }> {
  const { runtime } = context;
  const directory = configDirectory(runtime);
  const path = profileStorePath(runtime);
  update(await readProfiles(context));
  const withWriteFailure = <T>(run: () => Promise<T>): Promise<T> =>
    withFileFailure('write', path, run, { hint: 'set SVC_CONFIG_DIR to another directory' });
  const store = await withWriteFailure(() => prepareDirectory(directory).then(() => resolveSymlinks(path)));
  const unlock = await acquireLock(store, path, runtime, STORE_LOCK_TIMEOUT_MS);
  try {
    const before = await readProfiles(context);
    const after = update(before);
    await withWriteFailure(() => saveStore(after, store));
    return { before, after };
  } finally {
    await unlock();
  }
}

// conf writes beside the store, never over it: a failed rename or a partial write must not damage the only copy.
async function saveStore(next: ProfileStore, store: string): Promise<void> {
  const { openStoreFile, serializeStore } = await import('./profile-conf.ts');
  await removeStaleFiles(store);
  const stagingPath = store + STAGING_SUFFIX;
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

const STAGING_SUFFIX = '.next';

// Temporary files of killed saves can contain secrets: staging files, those of conf, and those of earlier versions of svc.
async function findStaleFiles(store: string): Promise<string[]> {
  const [directory, name] = [dirname(store), basename(store)];
  const isStale = (entry: string): boolean =>
    [STAGING_SUFFIX, '.tmp-'].some((suffix) => entry.startsWith(name + suffix));
  return (await readdir(directory)).filter(isStale).map((entry) => join(directory, entry));
}

async function removeStaleFiles(store: string): Promise<void> {
  for (const path of await findStaleFiles(store)) await rm(path, { force: true });
}

// Unless a process is saving. Never fails: the next save removes them, too, and reports errors.
async function removeStaleFilesIfIdle(path: string, runtime: LockRuntime): Promise<void> {
  try {
    const store = await resolveSymlinks(path);
    if ((await findStaleFiles(store)).length === 0) return;
    const unlock = await acquireLock(store, path, runtime);
    await removeStaleFiles(store).finally(unlock);
  } catch {
    // Another process is saving, or the directory cannot be read or changed.
  }
}
