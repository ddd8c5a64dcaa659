import type { Buffer } from 'node:buffer';
import { positionAt, type TextPosition } from '../../json/text-position.ts';

/** The start of something in its text: line and column from 1, which do not count a byte order mark, and the offset in bytes, which does. */
export interface TextLocation extends TextPosition {
  readonly offset: number;
}

/** The place of an offset in a part of a text that begins at `start`. */
export function locationInside(bytes: Buffer, start: TextLocation, offset: number): TextLocation {
  const inside = positionAt(bytes, offset);
  return {
    offset: start.offset + offset,
    line: start.line + inside.line - 1,
    column: inside.line === 1 ? start.column + inside.column - 1 : inside.column,
  };
}
