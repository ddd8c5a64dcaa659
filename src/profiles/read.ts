import { Buffer } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '../errors.ts';
import type { LockWorld } from '../files/lock.ts';
import { fileReason, isMissing } from '../files/reason.ts';
import { parseJson } from '../json/document.ts';
import { JsonError } from '../json/json-error.ts';
import { positionOf } from '../json/position.ts';
import { configFolder, type Where } from './folders.ts';
import { tidy } from './leftovers.ts';
import type { Profiles } from './profile.ts';
import { flawOf, isRecord, isStore } from './shape.ts';

/** Where the profiles of a configuration folder are. */
export function storeFile(folder: string): string {
  return join(folder, 'config.json');
}

/** The stored profiles; none where there is no store. Throws Failure `local` with the path of a store that is broken. */
export async function readProfiles(runtime: Where & LockWorld): Promise<Profiles> {
  const path = storeFile(configFolder(runtime));
  await tidy(path, runtime);
  try {
    return parseProfiles(await readFile(path), path);
  } catch (error) {
    if (isMissing(error)) return { profiles: {} };
    if (error instanceof Failure) throw error;
    throw new Failure('local', `cannot read the profiles in ${path}: ${fileReason(error)}`);
  }
}

function parseProfiles(bytes: Uint8Array, path: string): Profiles {
  const value = parsed(bytes, path);
  if (!isRecord(value)) throw broken(path, 'it does not hold profiles');
  const { profiles = {}, ...rest } = value;
  const store = { ...rest, profiles };
  if (isStore(store)) return store;
  throw broken(path, `it does not hold profiles: ${flawOf(store)}`);
}

// Our own reader finds the place; what JSON.parse says of a mistake quotes the text, in which there may be secrets.
function parsed(bytes: Uint8Array, path: string): unknown {
  try {
    return JSON.parse(parseJson(bytes).bytes.toString());
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    const { line, column } = positionOf(Buffer.from(bytes), error.offset);
    throw broken(path, `${error.message} (line ${line}, column ${column})`);
  }
}

function broken(path: string, why: string): Failure {
  return new Failure('local', `the profiles in ${path} cannot be used: ${why}`, {
    hint: 'mend the file, or move it away and log in again; svc does not change it',
  });
}
