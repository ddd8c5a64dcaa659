import { basename, dirname } from 'node:path';
import Conf from 'conf';

/** A store file as conf reads and writes it; the lock, the durable rename and the modes are the caller's. */
interface StoreFile {
  /** The content of the file; setting it writes the file. Both throw the system's errors, reading also what `parse` throws. */
  store: Record<string, unknown>;
}

const FILE_MODE = 0o600;

/** Opens a file for conf, which reads an existing file at once. `parse` turns its text into a store, or throws. */
export function openStoreFile(path: string, parse: (text: string) => Record<string, unknown>): StoreFile {
  return new Conf<Record<string, unknown>>({
    cwd: dirname(path),
    configName: basename(path),
    fileExtension: '',
    configFileMode: FILE_MODE,
    deserialize: parse,
    serialize: serializeStore,
    // A dot in the name of a profile is part of the name.
    accessPropertiesByDotNotation: false,
  });
}

export function serializeStore(store: object): string {
  return `${JSON.stringify(store, undefined, 2)}\n`;
}
