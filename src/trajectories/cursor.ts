import { Buffer, isAscii } from 'node:buffer';
import type { Crossing } from '../json/crossing.ts';
import type { Place } from './place.ts';
import { UnreadableText } from './unreadable-text.ts';

/** Where one is in a text of which only a part is here at any time. Offsets are those of that part. */
export interface Cursor extends Crossing {
  bytes: Buffer;
  /** The first byte that is still needed. */
  kept: number;
  /** How many bytes of the text came before those that are here. */
  base: number;
  /** How many bytes of this line, before `at`, are no first bytes of a character. */
  wide: number;
  /** No more bytes will come. */
  isEnded: boolean;
  /** What `bytes` is the beginning of: the rest has room for more. */
  room: Buffer;
}

// The index of a document counts in 32-bit numbers.
const MOST = 2 ** 31 - 1;

/** A cursor at the start of a text of which nothing has come. */
export function newCursor(): Cursor {
  const none = Buffer.alloc(0);
  const crossing = { at: 0, depth: 0, inString: false, lines: 0, lineStart: 0 };
  return { ...crossing, bytes: none, room: none, kept: 0, base: 0, wide: 0, isEnded: false };
}

/**
 * Adds a piece and lets go of what is not needed any more. Bytes that were handed out are never written to again: who
 * has them may keep them. Throws UnreadableText where a value is longer than can be held.
 */
export function append(cursor: Cursor, piece: Uint8Array): void {
  const { bytes, kept, room } = cursor;
  if (kept < bytes.length && bytes.length + piece.length <= room.length) {
    room.set(piece, bytes.length);
    cursor.bytes = room.subarray(0, bytes.length + piece.length);
    return;
  }
  const held = bytes.subarray(kept);
  cursor.base += kept;
  cursor.at -= kept;
  cursor.lineStart -= kept;
  cursor.kept = 0;
  if (held.length === 0) {
    cursor.bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
    cursor.room = cursor.bytes;
    return;
  }
  // Twice what is there, so that a long value is copied a few times only, however many pieces it comes in.
  const needed = held.length + piece.length;
  if (needed > MOST) throw new UnreadableText(`one value has more than ${MOST} bytes`, placeOf(cursor));
  cursor.room = Buffer.allocUnsafeSlow(held.length > piece.length ? Math.min(MOST, 2 * needed) : needed);
  cursor.room.set(held);
  cursor.room.set(piece, held.length);
  cursor.bytes = cursor.room.subarray(0, held.length + piece.length);
}

/** The place of the next byte. */
export function placeOf({ base, at, lines, lineStart, wide }: Cursor): Place {
  return { offset: base + at, line: lines + 1, column: at - lineStart - wide + 1 };
}

/** Counts the characters of what was passed over since `start`, so that columns stay right. */
export function countWide(cursor: Cursor, start: number): void {
  if (cursor.lineStart > start) cursor.wide = 0;
  const passed = cursor.bytes.subarray(Math.max(start, cursor.lineStart), cursor.at);
  if (isAscii(passed)) return;
  for (const byte of passed) if ((byte & 0xc0) === 0x80) cursor.wide += 1;
}
