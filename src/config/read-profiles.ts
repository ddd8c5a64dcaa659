import { Buffer } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '../errors.ts';
import { describeFileError, isNotFoundError } from '../files/file-errors.ts';
import type { LockRuntime } from '../files/file-lock.ts';
import { JsonError } from '../json/json-error.ts';
import { parseJson } from '../json/parse-json.ts';
import { positionAt } from '../json/text-position.ts';
import { configDirectory, type DirectoryContext } from './directories.ts';
import type { ProfileStore } from './profile.ts';
import { isProfileStore, isRecord, profileStoreError } from './profile-schema.ts';
import { removeStaleFilesIfIdle } from './stale-files.ts';

/** Where the profiles of a configuration folder are. */
export function profileStorePath(directory: string): string {
  return join(directory, 'config.json');
}

/** The stored profiles; none where there is no store. Throws Failure `local` with the path of a store that is broken. */
export async function readProfiles(runtime: DirectoryContext & LockRuntime): Promise<ProfileStore> {
  const path = profileStorePath(configDirectory(runtime));
  await removeStaleFilesIfIdle(path, runtime);
  try {
    return parseProfiles(await readFile(path), path);
  } catch (error) {
    if (isNotFoundError(error)) return { profiles: {} };
    if (error instanceof Failure) throw error;
    throw new Failure('local', `cannot read the profiles in ${path}: ${describeFileError(error)}`);
  }
}

function parseProfiles(bytes: Uint8Array, path: string): ProfileStore {
  const value = parseJsonValue(bytes, path);
  if (!isRecord(value)) throw invalidStoreFailure(path, 'it does not hold profiles');
  const { profiles = {}, ...rest } = value;
  const store = { ...rest, profiles };
  if (isProfileStore(store)) return store;
  throw invalidStoreFailure(path, `it does not hold profiles: ${profileStoreError(store)}`);
}

// Our own reader finds the place; what JSON.parse says of a mistake quotes the text, in which there may be secrets.
function parseJsonValue(bytes: Uint8Array, path: string): unknown {
  try {
    return JSON.parse(parseJson(bytes).bytes.toString());
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    const { line, column } = positionAt(Buffer.from(bytes), error.offset);
    throw invalidStoreFailure(path, `${error.message} (line ${line}, column ${column})`);
  }
}

function invalidStoreFailure(path: string, why: string): Failure {
  return new Failure('local', `the profiles in ${path} cannot be used: ${why}`, {
    hint: 'mend the file, or move it away and log in again; svc does not change it',
  });
}
