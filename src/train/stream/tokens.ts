import type { Buffer } from 'node:buffer';
import {
  CARRIAGE_RETURN,
  END_OF_TEXT,
  LINE_FEED,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  SPACE,
  TAB,
} from '../../json/json-bytes.ts';
import { JsonError, UNEXPECTED_END, unexpectedByteError } from '../../json/json-error.ts';
import { parseJson } from '../../json/parse-json.ts';
import { skipValue } from '../../json/skip-value.ts';
import { addContinuationBytes, type Cursor, cursorLocation } from './cursor.ts';
import { invalidJsonError } from './invalid-text-error.ts';
import { locationInside, type TextLocation } from './text-location.ts';
import type { TrajectoryEvent } from './trajectory-event.ts';

/** Yields events, or undefined if it needs the next chunk; returns a byte or END_OF_TEXT. */
export type EventGenerator<T = void> = Generator<TrajectoryEvent | undefined, T, void>;

/** How whitespace and commas are treated: emitted between elements, dropped, or kept with the pending text. */
export type SeparatorMode = 'between' | 'dropped' | 'held';

/** Skips whitespace and returns the next byte. */
export function* nextToken(cursor: Cursor, separators: SeparatorMode): EventGenerator<number> {
  for (;;) {
    const { bytes } = cursor;
    for (; cursor.at < bytes.length; cursor.at += 1) {
      const byte = bytes[cursor.at] ?? 0;
      if (byte === LINE_FEED) {
        cursor.lines += 1;
        cursor.lineStart = cursor.at + 1;
        cursor.continuationBytes = 0;
      } else if (byte !== SPACE && byte !== CARRIAGE_RETURN && byte !== TAB) return byte;
    }
    yield* emitConsumed(cursor, separators);
    if (cursor.isEnded) return END_OF_TEXT;
    yield undefined;
  }
}

/** Emits the bytes since the last call. */
export function* emitConsumed(cursor: Cursor, as: SeparatorMode | 'text', location?: TextLocation): EventGenerator {
  // Inside a string, the cursor may be one byte beyond the end, after a backslash.
  const end = Math.min(cursor.at, cursor.bytes.length);
  if (as === 'held' || cursor.keepFrom === end) return;
  const bytes = cursor.bytes.subarray(cursor.keepFrom, end);
  cursor.keepFrom = end;
  if (as === 'text') yield { kind: 'text', bytes, location: location ?? cursorLocation(cursor) };
  else if (as === 'between') yield { kind: 'between', bytes };
}

// A longer value is parsed before it is complete: an error in it may hide its end.
const EARLY_CHECK_BYTES = 8 * 1024 * 1024;

// An error this close to the last byte may disappear with the next chunk.
const UNCERTAIN_TAIL_BYTES = 16;

/** Skips the value that starts at the next byte. */
export function* advancePastValue(cursor: Cursor): EventGenerator {
  const location = cursorLocation(cursor);
  const start = (): number => location.offset - cursor.baseOffset;
  const isDelimited = enterValue(cursor);
  let nextCheckBytes = EARLY_CHECK_BYTES;
  while (!(isDelimited ? skipValue(cursor.bytes, cursor) : advancePastScalar(cursor))) {
    const readSoFar = (): Buffer => cursor.bytes.subarray(start());
    if (cursor.isEnded) {
      if (!isDelimited) break;
      throwIfInvalid(readSoFar(), location, 0);
    } else if (readSoFar().length > nextCheckBytes) {
      throwIfInvalid(readSoFar(), location, UNCERTAIN_TAIL_BYTES);
      nextCheckBytes *= 2;
    }
    yield undefined;
  }
  if (cursor.at === start()) yield* throwUnexpected(cursor, 'a value');
  addContinuationBytes(cursor, start());
}

/** Skips the value that starts at the next byte and emits it chunk by chunk. */
export function* emitValue(cursor: Cursor, location: TextLocation): EventGenerator {
  const isDelimited = enterValue(cursor);
  while (!(isDelimited ? skipValue(cursor.bytes, cursor) : advancePastScalar(cursor))) {
    if (cursor.isEnded && isDelimited) throw invalidJsonError({ message: UNEXPECTED_END }, cursorLocation(cursor));
    yield* emitConsumed(cursor, 'text', location);
    if (cursor.isEnded) return;
    yield undefined;
  }
  yield* emitConsumed(cursor, 'text', location);
}

/** Throws InvalidTextError for the next byte. */
export function* throwUnexpected(cursor: Cursor, expected: string): EventGenerator<never> {
  // A character may have four bytes.
  while (!cursor.isEnded && cursor.bytes.length - cursor.at < 4) yield undefined;
  const rest = cursor.bytes.subarray(cursor.at, cursor.at + 4);
  throw invalidJsonError(unexpectedByteError(rest, 0, expected), cursorLocation(cursor));
}

// True for strings, objects and arrays, which have a closing byte.
function enterValue(cursor: Cursor): boolean {
  const first = cursor.bytes[cursor.at];
  cursor.depth = 0;
  cursor.isInString = false;
  return first === QUOTE || first === OPEN_OBJECT || first === OPEN_ARRAY;
}

// Numbers and literals end before a separator; parseJson validates them.
function advancePastScalar(cursor: Cursor): boolean {
  const { bytes } = cursor;
  for (; cursor.at < bytes.length; cursor.at += 1) {
    if (' \n\r\t,:"[]{}'.includes(String.fromCharCode(bytes[cursor.at] ?? 0))) return true;
  }
  return false;
}

function throwIfInvalid(bytes: Buffer, location: TextLocation, uncertainBytes: number): void {
  try {
    parseJson(bytes);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    if (error.offset < bytes.length - uncertainBytes || uncertainBytes === 0)
      throw invalidJsonError(error, locationInside(bytes, location, error.offset));
  }
}
