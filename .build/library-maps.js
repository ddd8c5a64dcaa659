import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { decode, encode } from '@jridgewell/sourcemap-codec';

/** Leaves libraries out of the source maps in a directory, which would be a third of the package: stack traces lead to our own sources. */
export function dropLibraryMaps(directory) {
  for (const name of readdirSync(directory).filter((file) => file.endsWith('.map'))) {
    const path = join(directory, name);
    const map = JSON.parse(readFileSync(path, 'utf8'));
    const isOurs = map.sources.map((source) => !source.includes('node_modules/'));
    const lines = decode(map.mappings).map((line) =>
      line.filter(([, source]) => source !== undefined && isOurs[source]),
    );
    const sources = map.sources.map((source, index) => (isOurs[index] ? source : ''));
    writeFileSync(path, JSON.stringify({ ...map, sources, names: [], mappings: encode(lines.map(withoutNames)) }));
  }
}

function withoutNames(line) {
  return line.map((segment) => segment.slice(0, 4));
}
