import { basename, dirname } from 'node:path';
import Conf from 'conf';

/** Reads an existing file at once; setting `store` writes it. The lock, the durable rename and the modes are the caller's. */
export function openStoreFile<Store extends Record<string, unknown>>(
  path: string,
  parse: (text: string) => Store,
): { store: Store } {
  return new Conf<Store>({
    cwd: dirname(path),
    configName: basename(path),
    fileExtension: '',
    configFileMode: 0o600,
    deserialize: parse,
    serialize: serializeStore,
    // A dot in the name of a profile is part of the name.
    accessPropertiesByDotNotation: false,
  });
}

export function serializeStore(store: object): string {
  return `${JSON.stringify(store, undefined, 2)}\n`;
}
