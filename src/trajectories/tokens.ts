import type { Buffer } from 'node:buffer';
import { crossed } from '../json/crossing.ts';
import { parseJson } from '../json/document.ts';
import { JsonError } from '../json/json-error.ts';
import { unexpected } from '../json/unexpected.ts';
import { type Cursor, countWide, placeOf } from './cursor.ts';
import type { Passing } from './passing.ts';
import { type Place, placeInside } from './place.ts';
import { UnreadableText, unreadable } from './unreadable-text.ts';

/** A step of reading: what passes, or undefined where there are no more bytes to go on with. Its result is a byte, or END. */
export type Reading<T = void> = Generator<Passing | undefined, T, void>;

/** In place of a byte: the text is over. */
export const END = -1;

/** What becomes of blanks and commas: they stand between elements and pass, are dropped, or belong to what is held. */
export type Blanks = 'between' | 'dropped' | 'held';

/** Goes to the next byte that is no blank, and tells it. */
export function* toToken(cursor: Cursor, blanks: Blanks): Reading<number> {
  for (;;) {
    const { bytes } = cursor;
    for (; cursor.at < bytes.length; cursor.at += 1) {
      const byte = bytes[cursor.at] ?? 0;
      if (byte === 0x0a) {
        cursor.lines += 1;
        cursor.lineStart = cursor.at + 1;
        cursor.wide = 0;
      } else if (byte !== 0x20 && byte !== 0x0d && byte !== 0x09) return byte;
    }
    yield* passed(cursor, blanks);
    if (cursor.isEnded) return END;
    yield undefined;
  }
}

/** Lets go of what was passed over since the last time. */
export function* passed(cursor: Cursor, as: Blanks | 'text', place?: Place): Reading {
  // In a string one may be behind the end, at what is escaped by the last byte.
  const end = Math.min(cursor.at, cursor.bytes.length);
  if (as === 'held' || cursor.kept === end) return;
  const bytes = cursor.bytes.subarray(cursor.kept, end);
  cursor.kept = end;
  if (as === 'text') yield { kind: 'text', bytes, place: place ?? placeOf(cursor) };
  else if (as === 'between') yield { kind: 'between', bytes };
}

// Where a value is longer than this, what has come of it is read: it may have no end because something in it is wrong.
const LONG = 8 * 1024 * 1024;

// An error this near to the last byte may be no error once there are more.
const TAIL = 16;

/** Goes to the end of the value that begins at the next byte. */
export function* overValue(cursor: Cursor): Reading {
  const place = placeOf(cursor);
  const start = (): number => place.offset - cursor.base;
  const isOpen = begins(cursor);
  let looked = LONG;
  while (!(isOpen ? crossed(cursor.bytes, cursor) : overScalar(cursor))) {
    const here = (): Buffer => cursor.bytes.subarray(start());
    if (cursor.isEnded) {
      if (!isOpen) break;
      refuseEarly(here(), place, 0);
    } else if (here().length > looked) {
      refuseEarly(here(), place, TAIL);
      looked *= 2;
    }
    yield undefined;
  }
  if (cursor.at === start()) yield* refuse(cursor, 'where a value should be');
  countWide(cursor, start());
}

/** Goes to the end of the value that begins at the next byte, and lets go of it as it comes. */
export function* valuePassed(cursor: Cursor, place: Place): Reading {
  const isOpen = begins(cursor);
  while (!(isOpen ? crossed(cursor.bytes, cursor) : overScalar(cursor))) {
    if (cursor.isEnded && isOpen) throw new UnreadableText('not JSON: the text ends too early', placeOf(cursor));
    yield* passed(cursor, 'text', place);
    if (cursor.isEnded) return;
    yield undefined;
  }
  yield* passed(cursor, 'text', place);
}

/** Throws that the next byte cannot stand there. */
export function* refuse(cursor: Cursor, where: string): Reading<never> {
  // A character may have four bytes.
  while (!cursor.isEnded && cursor.bytes.length - cursor.at < 4) yield undefined;
  const rest = cursor.bytes.subarray(cursor.at, cursor.at + 4);
  throw unreadable(unexpected(rest, 0, where), placeOf(cursor));
}

// True at a string, an object or a list, which end where something closes them.
function begins(cursor: Cursor): boolean {
  const first = cursor.bytes[cursor.at];
  cursor.depth = 0;
  cursor.inString = false;
  return first === 0x22 || first === 0x7b || first === 0x5b;
}

// Numbers and words end before what can follow a value; whether they are any is for parseJson to tell.
function overScalar(cursor: Cursor): boolean {
  const { bytes } = cursor;
  for (; cursor.at < bytes.length; cursor.at += 1) {
    if (' \n\r\t,:"[]{}'.includes(String.fromCharCode(bytes[cursor.at] ?? 0))) return true;
  }
  return false;
}

function refuseEarly(bytes: Buffer, place: Place, tail: number): void {
  try {
    parseJson(bytes);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    if (error.offset < bytes.length - tail || tail === 0)
      throw unreadable(error, placeInside(bytes, place, error.offset));
  }
}
