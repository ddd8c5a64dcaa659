import { readFileSync } from 'node:fs';
import { SourceMap, type SourceMapPayload } from 'node:module';
import { brotliDecompressSync } from 'node:zlib';

type SourceMaps = { readonly [file: string]: SourceMapPayload };

/** A text with a stack in which positions in the bundle are mapped to lines of the source by the packed source maps. */
export function withSourceLocations(text: string): string {
  let maps: SourceMaps;
  try {
    const packed = readFileSync(new URL('source-maps.json.br', import.meta.url));
    maps = JSON.parse(brotliDecompressSync(packed).toString());
  } catch {
    return text;
  }
  return text.replaceAll(
    /file:\/\/\S+\/(\S+\.js):(\d+):(\d+)/g,
    (whole, file: string, line: string, column: string) => {
      const payload = maps[file];
      const entry = payload && new SourceMap(payload).findEntry(Number(line) - 1, Number(column) - 1);
      return entry && 'originalSource' in entry ? `${entry.originalSource}:${entry.originalLine + 1}` : whole;
    },
  );
}
