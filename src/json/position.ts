import type { Buffer } from 'node:buffer';

export interface Position {
  readonly line: number;
  readonly column: number;
}

/** Line and column, both from 1 and columns in characters, of a byte offset in valid UTF-8. */
export function positionOf(bytes: Buffer, offset: number): Position {
  let line = 1;
  let start = 0;
  for (let at = bytes.indexOf(10); at !== -1 && at < offset; at = bytes.indexOf(10, at + 1)) {
    line += 1;
    start = at + 1;
  }
  return { line, column: [...bytes.toString('utf8', start, offset)].length + 1 };
}
