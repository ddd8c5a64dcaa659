import { Buffer, isAscii } from 'node:buffer';
import type { SkipState } from '../../json/skip-value.ts';
import type { TapeBuffer } from '../../json/tape.ts';
import { InvalidTextError } from './invalid-text-error.ts';
import type { TextLocation } from './text-location.ts';

/** Where one is in a text of which only a part is here at any time. Offsets are those of that part. */
export interface Cursor extends SkipState {
  bytes: Buffer;
  /** The first byte that is still needed. */
  keepFrom: number;
  /** How many bytes of the text came before those that are here. */
  baseOffset: number;
  /** How many bytes of this line, before `at`, are no first bytes of a character. */
  continuationBytes: number;
  /** No more bytes will come. */
  isEnded: boolean;
  /** What `bytes` is the beginning of: the rest has room for more. */
  buffer: Buffer;
  /** Bytes of the trajectory before the next one: of most files all have about the same. */
  lastTrajectoryBytes: number;
  /** Memory for the index of one trajectory after the other. */
  readonly tapeBuffer: TapeBuffer;
}

// The index of a document counts in 32-bit numbers.
const MAX_VALUE_BYTES = 2 ** 31 - 1;

/** A cursor at the start of a text of which nothing has come. */
export function createCursor(): Cursor {
  const none = Buffer.alloc(0);
  const crossing = { at: 0, depth: 0, inString: false, lines: 0, lineStart: 0 };
  return {
    ...crossing,
    bytes: none,
    buffer: none,
    keepFrom: 0,
    baseOffset: 0,
    continuationBytes: 0,
    isEnded: false,
    lastTrajectoryBytes: 0,
    tapeBuffer: { entries: undefined },
  };
}

/**
 * Adds a copy of a piece and lets go of what is not needed any more: its place is used again. Throws UnreadableText where
 * a value is longer than can be held.
 */
export function appendChunk(cursor: Cursor, chunk: Uint8Array): void {
  const { bytes, keepFrom } = cursor;
  const retained = bytes.subarray(keepFrom);
  const neededBytes = retained.length + chunk.length;
  if (neededBytes > MAX_VALUE_BYTES)
    throw new InvalidTextError(`one value has more than ${MAX_VALUE_BYTES} bytes`, cursorLocation(cursor));
  // Twice what is there, so that a long value is moved a few times only, however many pieces it comes in.
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

/** The place of the next byte. */
export function cursorLocation({ baseOffset, at, lines, lineStart, continuationBytes }: Cursor): TextLocation {
  return { offset: baseOffset + at, line: lines + 1, column: at - lineStart - continuationBytes + 1 };
}

/** Counts the characters of what was passed over since `start`, so that columns stay right. */
export function countContinuationBytes(cursor: Cursor, start: number): void {
  if (cursor.lineStart > start) cursor.continuationBytes = 0;
  const passed = cursor.bytes.subarray(Math.max(start, cursor.lineStart), cursor.at);
  if (isAscii(passed)) return;
  for (const byte of passed) if ((byte & 0xc0) === 0x80) cursor.continuationBytes += 1;
}
