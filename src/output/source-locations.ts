import { readFile } from 'node:fs/promises';
import { SourceMap, type SourceMapPayload } from 'node:module';
import { fileURLToPath } from 'node:url';

/** A text with a stack in which positions in the bundle are mapped to the source by the source maps. */
export async function withSourceLocations(text: string): Promise<string> {
  const pieces: string[] = [];
  let end = 0;
  for (const match of text.matchAll(/(file:\/\/\S+\.js):(\d+):(\d+)/g)) {
    const [whole, file = '', line, column] = match;
    const location = await sourceLocation(file, Number(line) - 1, Number(column) - 1).catch(() => undefined);
    pieces.push(text.slice(end, match.index), location ?? whole);
    end = match.index + whole.length;
  }
  return [...pieces, text.slice(end)].join('');
}

async function sourceLocation(file: string, line: number, column: number): Promise<string | undefined> {
  const payload: SourceMapPayload = JSON.parse(await readFile(fileURLToPath(`${file}.map`), 'utf8'));
  const entry = new SourceMap(payload).findEntry(line, column);
  if (!('originalSource' in entry)) return undefined;
  return `${entry.originalSource.replace(/^(\.\.\/)+/, '')}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
}
