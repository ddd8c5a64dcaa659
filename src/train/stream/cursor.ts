import { Buffer } from 'node:buffer';
import { formatByteSize } from '../../files/byte-size.ts';
import { LINE_FEED } from '../../json/json-bytes.ts';
import type { SkipState } from '../../json/skip-value.ts';
import { countContinuationBytes, countLineFeeds } from '../../json/utf8.ts';
import { InvalidTextError } from './invalid-text-error.ts';
import type { TextLocation } from './text-location.ts';

/** The position in a text of which only a part is in memory. Offsets are relative to that part. */
export interface Cursor extends SkipState {
  bytes: Buffer;
  /** The first byte that is still needed. */
  keepFrom: number;
  /** The number of bytes of the text before `bytes`. */
  baseOffset: number;
  /** UTF-8 continuation bytes of this line before `at`. */
  continuationBytes: number;
  /** No more bytes will come. */
  isEnded: boolean;
  /** `bytes` are the start of this buffer. */
  buffer: Buffer;
  /** Bytes of the trajectory before the next one: of most files all have about the same. */
  lastTrajectoryBytes: number;
}

// The index of a document counts in 32-bit numbers.
const MAX_VALUE_BYTES = 2 ** 31 - 1;

/** A cursor at the start of a text, before its first chunk. */
export function createCursor(): Cursor {
  const none = Buffer.alloc(0);
  const skipState = { at: 0, depth: 0, isInString: false, lines: 0, lineStart: 0 };
  return {
    ...skipState,
    bytes: none,
    buffer: none,
    keepFrom: 0,
    baseOffset: 0,
    continuationBytes: 0,
    isEnded: false,
    lastTrajectoryBytes: 0,
  };
}

/**
 * Appends a copy of a chunk, and reuses the memory before `keepFrom`. Throws InvalidTextError if a value is too long to
 * hold.
 */
export function appendChunk(cursor: Cursor, chunk: Uint8Array): void {
  const { bytes, keepFrom } = cursor;
  const retained = bytes.subarray(keepFrom);
  const neededBytes = retained.length + chunk.length;
  if (neededBytes > MAX_VALUE_BYTES)
    throw new InvalidTextError(`one value has more than ${formatByteSize(MAX_VALUE_BYTES)}`, cursorLocation(cursor));
  // Twice the size, so that a long value is moved only a few times.
  const larger =
    neededBytes > cursor.buffer.length ? Buffer.allocUnsafeSlow(Math.min(MAX_VALUE_BYTES, 2 * neededBytes)) : undefined;
  const buffer = larger ?? cursor.buffer;
  if (larger || keepFrom > 0) buffer.set(retained);
  buffer.set(chunk, retained.length);
  Object.assign(cursor, {
    buffer,
    bytes: buffer.subarray(0, neededBytes),
    keepFrom: 0,
    baseOffset: cursor.baseOffset + keepFrom,
  });
  cursor.at -= keepFrom;
  cursor.lineStart -= keepFrom;
}

/** The location of the next byte. */
export function cursorLocation({ baseOffset, at, lines, lineStart, continuationBytes }: Cursor): TextLocation {
  return { offset: baseOffset + at, line: lines + 1, column: at - lineStart - continuationBytes + 1 };
}

/** Counts the line feeds since `start`; valid JSON has none inside of strings. */
export function addLines(cursor: Cursor, start: number): void {
  const passed = cursor.bytes.subarray(start, cursor.at);
  const last = passed.lastIndexOf(LINE_FEED);
  if (last === -1) return;
  cursor.lines += countLineFeeds(passed);
  cursor.lineStart = start + last + 1;
}

/** Counts the continuation bytes since `start`, so that columns count characters. */
export function addContinuationBytes(cursor: Cursor, start: number): void {
  if (cursor.lineStart > start) cursor.continuationBytes = 0;
  cursor.continuationBytes += countContinuationBytes(
    cursor.bytes.subarray(Math.max(start, cursor.lineStart), cursor.at),
  );
}
