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
 * Adds a copy of a piece and lets go of what is not needed any more: its place is used again. Throws UnreadableText where
 * a value is longer than can be held.
 */
export function append(cursor: Cursor, piece: Uint8Array): void {
  const { bytes, kept } = cursor;
  const held = bytes.subarray(kept);
  const needed = held.length + piece.length;
  if (needed > MOST) throw new UnreadableText(`one value has more than ${MOST} bytes`, placeOf(cursor));
  // Twice what is there, so that a long value is moved a few times only, however many pieces it comes in.
  const larger = needed > cursor.room.length ? Buffer.allocUnsafeSlow(Math.min(MOST, 2 * needed)) : undefined;
  const room = larger ?? cursor.room;
  if (larger || kept > 0) room.set(held);
  room.set(piece, held.length);
  Object.assign(cursor, { room, bytes: room.subarray(0, needed), kept: 0, base: cursor.base + kept });
  cursor.at -= kept;
  cursor.lineStart -= kept;
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
