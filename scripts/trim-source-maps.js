import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { decode, encode } from '@jridgewell/sourcemap-codec';

/**
 * Trims the source maps in a directory, which would be a third of the package, to what stack traces need: the lines of our
 * own sources. Libraries, names and further columns of a line are left out.
 */
export function trimSourceMaps(directory) {
  for (const name of readdirSync(directory).filter((file) => file.endsWith('.map'))) {
    const path = join(directory, name);
    const map = JSON.parse(readFileSync(path, 'utf8'));
    const isOurs = map.sources.map((source) => !source.includes('node_modules/'));
    const sources = map.sources.map((source, index) => (isOurs[index] ? source : ''));
    const lines = decode(map.mappings).map((line) => trimLine(line, isOurs));
    writeFileSync(path, JSON.stringify({ ...map, sources, names: [], mappings: encode(lines) }));
  }
}

function trimLine(line, isOurs) {
  let last = [];
  return line.flatMap(([column, source, sourceLine, sourceColumn]) => {
    if (source === undefined || !isOurs[source]) {
      // Ends the last line, so that code of a library is not taken for it.
      const isEnd = last.length > 0;
      last = [];
      return isEnd ? [[column]] : [];
    }
    if (last[0] === source && last[1] === sourceLine) return [];
    last = [source, sourceLine];
    return [[column, source, sourceLine, sourceColumn]];
  });
}
