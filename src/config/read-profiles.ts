import { Buffer } from 'node:buffer';
import { readdir, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Context } from '../context.ts';
import { Failure } from '../errors.ts';
import { formatByteSize } from '../files/byte-size.ts';
import { fileFailure, isNotFoundError } from '../files/file-errors.ts';
import { acquireLock, type LockRuntime } from '../files/file-lock.ts';
import { resolveSymlinks } from '../files/file-replacement.ts';
import { requireTrustedFile } from '../files/trusted-file.ts';
import { isRecord } from '../json/is-record.ts';
import { JsonError } from '../json/json-error.ts';
import { parseJson } from '../json/parse-json.ts';
import { positionAt } from '../json/utf8.ts';
import type { Reporter } from '../output/reporter.ts';
import { configDirectory } from './directories.ts';
import type { Profile, ProfileStore } from './profile.ts';
import { type Setting, type SettingKind, type StoredSettings, settings } from './settings.ts';

const MAX_STORE_BYTES = 16 * 1024 * 1024;

/** The file of the profiles in a configuration directory. */
export function profileStorePath(directory: string): string {
  return join(directory, 'config.json');
}

/** The context for reading the configuration; a store whose mode was too wide is a warning. */
export type ConfigContext = Pick<Context, 'runtime'> & { readonly report: Pick<Reporter, 'warn'> };

/**
 * The stored profiles; none if there is no store. Throws Failure `local_file`, with the path, for an invalid store, and
 * `safety_check` for a store that cannot be trusted (trusted-file.ts).
 */
export async function readProfiles({ runtime, report }: ConfigContext): Promise<ProfileStore> {
  const path = profileStorePath(configDirectory(runtime));
  await removeStaleFilesIfIdle(path, runtime);
  try {
    await requireTrustedFile(path, { userId: runtime.userId, warn: report.warn });
    await requireRegularFile(path);
    const { openStoreFile } = await import('./profile-conf.ts');
    return checkStore(openStoreFile(path, (text) => parseStore(text, path)).store, path);
  } catch (error) {
    if (isNotFoundError(error)) return { profiles: {} };
    if (error instanceof Failure) throw error;
    throw fileFailure(`read the profiles in ${path}`, error);
  }
}

// conf reads a file synchronously, which could block without end on a FIFO or a device.
async function requireRegularFile(path: string): Promise<void> {
  const stats = await stat(path);
  if (!stats.isFile()) throw invalidStoreFailure(path, 'it is not a regular file');
  if (stats.size > MAX_STORE_BYTES)
    throw invalidStoreFailure(path, `it is larger than ${formatByteSize(MAX_STORE_BYTES)}`);
}

// JSON.parse would quote the text in its errors, and the text may hold secrets.
function parseStore(text: string, path: string): Record<string, unknown> {
  if (text.includes('\ufffd')) throw invalidStoreFailure(path, 'invalid UTF-8');
  try {
    const value: unknown = JSON.parse(parseJson(Buffer.from(text)).bytes.toString());
    if (isRecord(value)) return value;
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    const { line, column } = positionAt(Buffer.from(text), error.offset);
    throw invalidStoreFailure(path, `${error.message} (line ${line}, column ${column})`);
  }
  throw invalidStoreFailure(path, 'it does not hold profiles');
}

function checkStore({ profiles = {}, ...rest }: Record<string, unknown>, path: string): ProfileStore {
  const store = { ...rest, profiles };
  const error = profileStoreError(store);
  if (error !== undefined) throw invalidStoreFailure(path, `it does not hold profiles: ${error}`);
  return store as ProfileStore;
}

function invalidStoreFailure(path: string, why: string): Failure {
  return new Failure('local_file', `the profiles in ${path} cannot be used: ${why}`, {
    hint: 'fix the file, or move it away and log in again; svc does not change it',
  });
}

type JsonType = 'a string' | 'an array of strings' | 'an object of strings';

// The keys of a profile that are not settings.
const bindingTypes: { readonly [key in Exclude<keyof Required<Profile>, keyof StoredSettings>]: JsonType } = {
  password_key: 'a string',
  token_key: 'a string',
  basic_origins: 'an array of strings',
  bearer_origins: 'an array of strings',
  header_origins: 'an array of strings',
  basic_command_origins: 'an array of strings',
  bearer_command_origins: 'an array of strings',
};

// The reason why a value is not a valid store: names the key and never shows its value. Unknown keys may be of a newer svc.
function profileStoreError({ current, profiles }: Record<string, unknown>): string | undefined {
  if (current !== undefined && typeof current !== 'string') return 'current must be a string';
  if (!isRecord(profiles)) return 'profiles must be an object';
  for (const [name, profile] of Object.entries(profiles)) {
    if (!isRecord(profile)) return `the profile ${JSON.stringify(name)} must be an object`;
    for (const [key, type] of keyTypes()) {
      const value = Object.hasOwn(profile, key) ? profile[key] : undefined;
      if (value !== undefined && !hasType(type, value)) return `${key} of ${JSON.stringify(name)} must be ${type}`;
    }
  }
  return undefined;
}

function keyTypes(): (readonly [key: string, type: JsonType])[] {
  const stored = settings.filter((setting: Setting) => setting.isStored);
  return [...stored.map(({ name, kind }) => [name, storedType(kind)] as const), ...Object.entries(bindingTypes)];
}

function storedType(kind: SettingKind): JsonType {
  if (kind === 'command') return 'an array of strings';
  return kind === 'headers' ? 'an object of strings' : 'a string';
}

function hasType(type: JsonType, value: unknown): boolean {
  if (type === 'a string') return typeof value === 'string';
  const isContainer = type === 'an array of strings' ? Array.isArray(value) : isRecord(value);
  return isContainer && Object.values(value ?? {}).every((item) => typeof item === 'string');
}

/** The path of the next version of a store, before it replaces the store. */
export function profileStagingPath(store: string): string {
  return `${store}.next`;
}

/** Removes temporary files of killed saves, which can contain secrets. The caller holds the lock of the store. */
export async function removeStaleFiles(store: string): Promise<void> {
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

// Staging files, temporary files of conf, and temporary files of earlier versions of svc.
async function findStaleFiles(store: string): Promise<string[]> {
  const [directory, name] = [dirname(store), basename(store)];
  const isStale = (entry: string): boolean =>
    [profileStagingPath(name), `${name}.tmp-`].some((start) => entry.startsWith(start));
  return (await readdir(directory)).filter(isStale).map((entry) => join(directory, entry));
}
