import { Buffer } from 'node:buffer';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Context } from '../context.ts';
import { Failure } from '../errors.ts';
import { formatByteSize } from '../files/byte-size.ts';
import { fileFailure, isNotFoundError } from '../files/file-errors.ts';
import { requireTrustedFile } from '../files/trusted-file.ts';
import { isRecord } from '../json/is-record.ts';
import { JsonError } from '../json/json-error.ts';
import { parseJson } from '../json/parse-json.ts';
import { positionAt } from '../json/utf8.ts';
import type { Reporter } from '../output/reporter.ts';
import { configDirectory } from './directories.ts';
import type { ProfileStore } from './profile.ts';
import { profileStoreError } from './profile-schema.ts';
import { removeStaleFilesIfIdle } from './stale-files.ts';

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
