import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import { decode, encode } from '@jridgewell/sourcemap-codec';

/**
 * Replaces the source maps in a directory, which would be a third of the package, by one compressed file with what stack
 * traces need: the lines of our own sources. Libraries, names and columns of the source are left out.
 */
export function packSourceMaps(directory) {
  const maps = {};
  for (const name of readdirSync(directory).filter((file) => file.endsWith('.map'))) {
    const path = join(directory, name);
    const map = JSON.parse(readFileSync(path, 'utf8'));
    rmSync(path);
    const isOurs = map.sources.map((source) => !source.includes('node_modules/'));
    const sources = map.sources.map((source, index) => (isOurs[index] ? source.replace(/^(\.\.\/)+/, '') : ''));
    const code = readFileSync(path.replace(/\.map$/, ''), 'utf8').split('\n');
    const lines = decode(map.mappings).map((line, at) => trimLine(line, isOurs).filter(canThrow(code[at])));
    maps[name.replace(/\.map$/, '')] = { version: 3, sources, names: [], mappings: encode(lines) };
  }
  writeFileSync(join(directory, 'source-maps.json.br'), brotliCompressSync(JSON.stringify(maps)));
}

const CALL = /[\w$)\]](?<!\b(?:if|for|while|switch|catch))\(|\bnew\b|\bthrow\b/;

// Most code in stack traces calls or throws. Other code, such as a property of undefined, gets the line of the call before it.
function canThrow(code) {
  return ([column, source], index, line) =>
    source === undefined || CALL.test(code.slice(column, line[index + 1]?.[0]).replace(/"(?:[^"\\]|\\.)*"/g, ''));
}

function trimLine(line, isOurs) {
  let last = [];
  return line.flatMap(([column, source, sourceLine]) => {
    if (source === undefined || !isOurs[source]) {
      // Ends the last line, so that code of a library is not taken for it.
      const isEnd = last.length > 0;
      last = [];
      return isEnd ? [[column]] : [];
    }
    if (last[0] === source && last[1] === sourceLine) return [];
    last = [source, sourceLine];
    return [[column, source, sourceLine, 0]];
  });
}
