import { Buffer, isAscii, isUtf8 } from 'node:buffer';
import { LINE_FEED } from './json-bytes.ts';
import { JsonError } from './json-error.ts';

/** UTF-8 without a byte order mark. Throws JsonError with the offset of the first bad byte, which names gzip, UTF-16 and UTF-32. */
export function decodeUtf8(input: Uint8Array, isJson = false): Buffer {
  const bytes = Buffer.from(input.buffer, input.byteOffset, input.byteLength);
  rejectUtf16(bytes, isJson);
  if (bytes[0] === 0x1f && bytes[1] === 0x8b)
    throw new JsonError('this is compressed with gzip', 0, 'decompress it, such as with gunzip');
  const text = hasByteOrderMark(bytes) ? bytes.subarray(3) : bytes;
  if (!isUtf8(text)) throw new JsonError('invalid UTF-8', firstInvalidOffset(text));
  return text;
}

/** The UTF-8 byte order mark is all that is ever dropped from an input. */
export function hasByteOrderMark(bytes: Uint8Array): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
}

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

/** Lines and columns count from 1, columns in characters. */
export interface TextPosition {
  readonly line: number;
  readonly column: number;
}

const TEXT_START: TextPosition = { line: 1, column: 1 };

export function positionAfter(bytes: Buffer, start: TextPosition): TextPosition {
  const lineBreak = bytes.lastIndexOf(LINE_FEED);
  const lastLine = lineBreak === -1 ? bytes : bytes.subarray(lineBreak + 1);
  // Only the first byte of a character counts, not those that continue it.
  const characters = lastLine.length - (isAscii(lastLine) ? 0 : countMarkedBytes(lastLine, markContinuationBytes));
  if (lineBreak === -1) return { line: start.line, column: start.column + characters };
  return { line: start.line + countMarkedBytes(bytes, markLineFeeds), column: characters + 1 };
}

/** Returns the positions of byte offsets; in ascending order, lookups read the text once. */
export function createPositionLookup(bytes: Buffer): (offset: number) => TextPosition {
  let at = 0;
  let position = TEXT_START;
  return (offset) => {
    const isAhead = offset >= at;
    position = positionAfter(bytes.subarray(isAhead ? at : 0, offset), isAhead ? position : TEXT_START);
    at = offset;
    return position;
  };
}

export function positionAt(bytes: Buffer, offset: number): TextPosition {
  return positionAfter(bytes.subarray(0, offset), TEXT_START);
}

// Four bytes at a time, which takes a third of the time. `mark` returns the lowest bit of each byte of a number that counts.
function countMarkedBytes(bytes: Buffer, mark: (word: number) => number): number {
  const { length } = bytes;
  const view = new DataView(bytes.buffer, bytes.byteOffset, length);
  let count = 0;
  let at = 0;
  for (; at + 4 <= length; at += 4) count += Math.imul(mark(view.getInt32(at, true)), 0x01010101) >>> 24;
  for (; at < length; at += 1) count += mark(bytes[at] ?? 0);
  return count;
}

// The highest bit is set, and the next one is not.
function markContinuationBytes(word: number): number {
  return (word >>> 7) & (~word >>> 6) & 0x01010101;
}

// The bytes that were line feeds are zero. Adding 127 to its lower bits sets the highest bit of any other byte.
function markLineFeeds(word: number): number {
  const difference = word ^ 0x0a0a0a0a;
  return (~(((difference & 0x7f7f7f7f) + 0x7f7f7f7f) | difference) >>> 7) & 0x01010101;
}
