import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '../errors.ts';
import { fileReason, isMissing } from '../files/reason.ts';
import { utf8 } from '../json/utf8.ts';
import type { Profiles } from './profile.ts';

/** Where the profiles of a configuration folder are. */
export function storeFile(folder: string): string {
  return join(folder, 'config.json');
}

/** The stored profiles; none where there is no store. Throws Failure `local` with the path of a store that is broken. */
export async function readProfiles(folder: string): Promise<Profiles> {
  const path = storeFile(folder);
  try {
    return parseProfiles(await readFile(path), path);
  } catch (error) {
    if (isMissing(error)) return { profiles: {} };
    if (error instanceof Failure) throw error;
    throw new Failure('local', `cannot read the profiles in ${path}: ${fileReason(error)}`);
  }
}

/** The profiles in the bytes of a store. Throws Failure `local` where they are not what svc writes. */
export function parseProfiles(bytes: Uint8Array, path: string): Profiles {
  let value: unknown;
  try {
    value = JSON.parse(utf8(bytes).toString());
  } catch (error) {
    throw broken(path, error instanceof Error ? error.message : String(error));
  }
  if (!isStore(value)) throw broken(path, 'it does not hold profiles');
  return value;
}

function broken(path: string, why: string): Failure {
  return new Failure('local', `the profiles in ${path} cannot be used: ${why}`, {
    hint: `mend the file, or move it away and log in again; svc does not change it`,
  });
}

// The store is written by svc; this guards against files that something else put there.
function isStore(value: unknown): value is Profiles {
  if (!isRecord(value)) return false;
  const { current, profiles = {} } = value;
  return (
    (current === undefined || typeof current === 'string') &&
    isRecord(profiles) &&
    Object.values(profiles).every(isProfile)
  );
}

function isProfile(value: unknown): boolean {
  return isRecord(value) && Object.values(value).every((item) => typeof item === 'string' || isStrings(item));
}

function isStrings(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.values(value).every((item) => typeof item === 'string');
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
