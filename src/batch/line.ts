import { Buffer } from 'node:buffer';

/** A line of a file of lines, without its end. */
export interface Line {
  /** Counted from 1. */
  readonly number: number;
  /** Where it begins in the file, in bytes. */
  readonly offset: number;
  /** Bytes it takes, with its end. */
  readonly length: number;
  /** Nothing where it is longer than what is held. */
  readonly bytes: Buffer | undefined;
  /** It is the last one, and its end is missing. */
  readonly isTorn: boolean;
}

const END = 0x0a;

/** The lines of a text, one at a time, however long it is. Of a line longer than `most` bytes only the length is told. */
export async function* linesOf(pieces: AsyncIterable<Uint8Array>, most: number): AsyncGenerator<Line> {
  let held: Uint8Array[] = [];
  let offset = 0;
  let length = 0;
  let number = 1;
  const lineUpTo = (last: Uint8Array, isTorn: boolean): Line => {
    const size = length + last.length;
    const bytes = size > most ? undefined : held.length === 0 ? bufferOf(last) : Buffer.concat([...held, last]);
    const line = { number, offset, length: isTorn ? size : size + 1, bytes, isTorn };
    held = [];
    length = 0;
    offset += line.length;
    number += 1;
    return line;
  };
  for await (const piece of pieces) {
    let from = 0;
    for (let end = piece.indexOf(END); end !== -1; end = piece.indexOf(END, from)) {
      yield lineUpTo(piece.subarray(from, end), false);
      from = end + 1;
    }
    const rest = piece.subarray(from);
    length += rest.length;
    if (length > most) held = [];
    else if (rest.length > 0) held.push(rest);
  }
  if (length > 0) yield lineUpTo(Buffer.alloc(0), true);
}

/** True for a line with nothing but blanks in it. */
export function isBlank({ bytes }: Line): boolean {
  return bytes?.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d) ?? false;
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
