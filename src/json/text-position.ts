import type { Buffer } from 'node:buffer';
import { LINE_FEED } from './json-bytes.ts';

export interface TextPosition {
  readonly line: number;
  readonly column: number;
}

/**
 * Returns line and column, both from 1 and columns in characters, of byte offsets in valid UTF-8. In ascending
 * order, any number of lookups reads the text once.
 */
export function createPositionLookup(bytes: Buffer): (offset: number) => TextPosition {
  let at = 0;
  let line = 1;
  let column = 1;
  return (offset) => {
    if (offset < at) [at, line, column] = [0, 1, 1];
    for (; at < offset; at++) {
      const byte = bytes[at] ?? 0;
      // Only the first byte of a character counts, not those that continue it.
      if ((byte & 0xc0) !== 0x80) column += 1;
      if (byte !== LINE_FEED) continue;
      line += 1;
      column = 1;
    }
    return { line, column };
  };
}

/** Line and column of one byte offset, as createPositionLookup counts them. */
export function positionAt(bytes: Buffer, offset: number): TextPosition {
  return createPositionLookup(bytes)(offset);
}

/** `body.json:12:7`: a position in the text that a label names; in column 0, which no text has, `rows.csv row 12`. */
export function formatPosition(label: string, { line, column }: TextPosition): string {
  return column === 0 ? `${label} row ${line}` : `${label}:${line}:${column}`;
}
