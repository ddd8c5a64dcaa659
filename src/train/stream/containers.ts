import type { Buffer } from 'node:buffer';
import { CLOSE_ARRAY, CLOSE_OBJECT, COLON, COMMA, QUOTE } from '../../json/json-bytes.ts';
import { trailingCommaError } from '../../json/json-error.ts';
import { rootOf, stringOf } from '../../json/json-node.ts';
import { type Cursor, cursorLocation } from './cursor.ts';
import { invalidJsonError, parseTextAt } from './invalid-text-error.ts';
import type { TextLocation } from './text-location.ts';
import { advancePastValue, type EventGenerator, emitConsumed, nextToken, throwUnexpected } from './tokens.ts';

/** The start of the text of a group or body that was not emitted yet. */
export interface PendingText {
  location: TextLocation;
}

/** Reads an array, element by element. Without `text`, drops the brackets and separators. */
export function* readArray(
  cursor: Cursor,
  text: PendingText | undefined,
  readElement: () => EventGenerator,
): EventGenerator {
  const separators = text ? 'between' : 'dropped';
  cursor.at += 1;
  yield* emitConsumed(cursor, text ? 'text' : 'dropped', text?.location);
  let byte = yield* nextToken(cursor, separators);
  while (byte !== CLOSE_ARRAY) {
    yield* emitConsumed(cursor, separators);
    yield* readElement();
    byte = yield* nextToken(cursor, separators);
    if (byte === CLOSE_ARRAY) break;
    if (byte !== COMMA) yield* throwUnexpected(cursor, '"," or "]"');
    byte = yield* skipComma(cursor, separators);
  }
  yield* emitConsumed(cursor, separators);
  if (text) text.location = cursorLocation(cursor);
  cursor.at += 1;
}

/** Reads an object; calls `readValue` for the value of each field. */
export function* readObject(
  cursor: Cursor,
  readValue: (name: string, first: number) => EventGenerator,
): EventGenerator {
  cursor.at += 1;
  let byte = yield* nextToken(cursor, 'held');
  while (byte !== CLOSE_OBJECT) {
    if (byte !== QUOTE) yield* throwUnexpected(cursor, 'a key in double quotes');
    const name = yield* readKey(cursor);
    if ((yield* nextToken(cursor, 'held')) !== COLON) yield* throwUnexpected(cursor, '":"');
    cursor.at += 1;
    yield* readValue(name, yield* nextToken(cursor, 'held'));
    byte = yield* nextToken(cursor, 'held');
    if (byte === CLOSE_OBJECT) break;
    if (byte !== COMMA) yield* throwUnexpected(cursor, '"," or "}"');
    byte = yield* skipComma(cursor, 'held');
  }
  cursor.at += 1;
}

function* skipComma(cursor: Cursor, separators: 'between' | 'dropped' | 'held'): EventGenerator<number> {
  const comma = cursorLocation(cursor);
  cursor.at += 1;
  const byte = yield* nextToken(cursor, separators);
  if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) throw invalidJsonError(trailingCommaError(0), comma);
  return byte;
}

function* readKey(cursor: Cursor): EventGenerator<string> {
  const location = cursorLocation(cursor);
  yield* advancePastValue(cursor);
  const bytes = bytesSince(cursor, location);
  const name = bytes.toString('utf8', 1, bytes.length - 1);
  return name.includes('\\') ? stringOf(rootOf(parseTextAt(bytes, location))) : name;
}

/** The bytes from a location to the cursor. */
export function bytesSince({ bytes, baseOffset, at }: Cursor, { offset }: TextLocation): Buffer {
  return bytes.subarray(offset - baseOffset, at);
}
