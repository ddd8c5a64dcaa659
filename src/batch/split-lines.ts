import { Buffer } from 'node:buffer';

/** A line of a file of lines, without its end. */
export interface InputLine {
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

const NEWLINE_BYTE = 0x0a;

/** The lines of a text, one at a time, however long it is. Of a line longer than `most` bytes only the length is told. */
export async function* splitLines(chunks: AsyncIterable<Uint8Array>, maxLineBytes: number): AsyncGenerator<InputLine> {
  let pendingChunks: Uint8Array[] = [];
  let offset = 0;
  let length = 0;
  let number = 1;
  const finishLine = (last: Uint8Array, isTorn: boolean): InputLine => {
    const size = length + last.length;
    const bytes =
      size > maxLineBytes
        ? undefined
        : pendingChunks.length === 0
          ? toBuffer(last)
          : Buffer.concat([...pendingChunks, last]);
    const line = { number, offset, length: isTorn ? size : size + 1, bytes, isTorn };
    pendingChunks = [];
    length = 0;
    offset += line.length;
    number += 1;
    return line;
  };
  for await (const chunk of chunks) {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE_BYTE); end !== -1; end = chunk.indexOf(NEWLINE_BYTE, from)) {
      yield finishLine(chunk.subarray(from, end), false);
      from = end + 1;
    }
    const rest = chunk.subarray(from);
    length += rest.length;
    if (length > maxLineBytes) pendingChunks = [];
    else if (rest.length > 0) pendingChunks.push(rest);
  }
  if (length > 0) yield finishLine(Buffer.alloc(0), true);
}

/** True for a line with nothing but blanks in it. */
export function isEmptyLine({ bytes }: InputLine): boolean {
  return bytes?.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d) ?? false;
}

function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
