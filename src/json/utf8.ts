import { Buffer, isAscii, isUtf8 } from 'node:buffer';
import { LINE_FEED } from './json-bytes.ts';
import { JsonError } from './json-error.ts';

/**
 * The bytes of a text as valid UTF-8 without a byte order mark.
 * Throws JsonError with the offset of the first bad byte; it names gzip, and UTF-16 and UTF-32 with a byte order mark, in JSON also
 * without one.
 */
export function decodeUtf8(input: Uint8Array, isJson = false): Buffer {
  const bytes = Buffer.from(input.buffer, input.byteOffset, input.byteLength);
  rejectUtf16(bytes, isJson);
  if (bytes[0] === 0x1f && bytes[1] === 0x8b)
    throw new JsonError('this is compressed with gzip', 0, 'decompress it, such as with gunzip');
  const text = hasByteOrderMark(bytes) ? bytes.subarray(3) : bytes;
  if (!isUtf8(text)) throw new JsonError('invalid UTF-8', firstInvalidOffset(text));
  return text;
}

/** True when the bytes start with the UTF-8 byte order mark, the only bytes that are ever dropped from an input. */
export function hasByteOrderMark(bytes: Uint8Array): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
}

/** Throws JsonError for a text in UTF-16 or UTF-32, as its first two bytes show: with a byte order mark or, in JSON, without. */
export function rejectUtf16(bytes: Uint8Array, isJson = true): void {
  const [first, second] = bytes;
  const hasMark = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  // JSON starts with an ASCII character, so a zero among the first two bytes is part of a wide one.
  if (hasMark || (isJson && bytes.length > 1 && (first === 0 || second === 0)))
    throw new JsonError('this is UTF-16 or UTF-32', 0, 'save it as UTF-8');
}

// Decoding replaces the first invalid sequence, so it begins at the first byte that differs, or just before it.
function firstInvalidOffset(bytes: Buffer): number {
  const decoded = Buffer.from(bytes.toString());
  let at = 0;
  while (at < bytes.length && bytes[at] === decoded[at]) at += 1;
  while (!isUtf8(bytes.subarray(0, at))) at -= 1;
  return at;
}

export function countContinuationBytes(bytes: Buffer): number {
  if (isAscii(bytes)) return 0;
  // Four bytes at a time, which takes a third of the time: 100 MB may be on one line.
  const { length } = bytes;
  const view = new DataView(bytes.buffer, bytes.byteOffset, length);
  let count = 0;
  let at = 0;
  for (; at + 4 <= length; at += 4) {
    const word = view.getInt32(at, true);
    // The lowest bit of each byte: whether the highest bit was set and the next one was not.
    if ((word & 0x80808080) !== 0) count += sumBytes((word >>> 7) & (~word >>> 6) & 0x01010101);
  }
  for (; at < length; at += 1) if (((bytes[at] ?? 0) & 0xc0) === 0x80) count += 1;
  return count;
}

export function countLineFeeds(bytes: Buffer): number {
  // Four bytes at a time, too: 100 MB may have a million lines.
  const { length } = bytes;
  const view = new DataView(bytes.buffer, bytes.byteOffset, length);
  let count = 0;
  let at = 0;
  for (; at + 4 <= length; at += 4) {
    // The bytes that were line feeds are zero. Adding 127 to its lower bits sets the highest bit of any other byte.
    const word = view.getInt32(at, true) ^ 0x0a0a0a0a;
    count += sumBytes((~(((word & 0x7f7f7f7f) + 0x7f7f7f7f) | word) >>> 7) & 0x01010101);
  }
  for (; at < length; at += 1) if (bytes[at] === LINE_FEED) count += 1;
  return count;
}

// The sum of the four bytes of a number.
function sumBytes(word: number): number {
  return Math.imul(word, 0x01010101) >>> 24;
}

export interface TextPosition {
  readonly line: number;
  readonly column: number;
}

/** Returns line and column, from 1 and in characters, of byte offsets; in ascending order, lookups read the text once. */
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

/** `body.json:12:7`: a position in the text that a label names. */
export function formatPosition(label: string, { line, column }: TextPosition): string {
  return `${label}:${line}:${column}`;
}
