import type { Buffer } from 'node:buffer';
import { rootOf, stringOf } from '../json/node.ts';
import { trailingComma } from '../json/unexpected.ts';
import { type Cursor, placeOf } from './cursor.ts';
import type { Place } from './place.ts';
import { overValue, passed, type Reading, refuse, toToken } from './tokens.ts';
import { documentAt, unreadable } from './unreadable-text.ts';

const COMMA = 0x2c;
const COLON = 0x3a;
const QUOTE = 0x22;
const CLOSE_LIST = 0x5d;
const CLOSE_OBJECT = 0x7d;

/** Where the text of a group or body that has not passed yet begins. */
export interface Unpassed {
  place: Place;
}

/** Reads a list, element by element. Without a text around it the brackets and all between the elements are dropped. */
export function* list(cursor: Cursor, text: Unpassed | undefined, element: () => Reading): Reading {
  const blanks = text ? 'between' : 'dropped';
  cursor.at += 1;
  yield* passed(cursor, text ? 'text' : 'dropped', text?.place);
  let byte = yield* toToken(cursor, blanks);
  while (byte !== CLOSE_LIST) {
    yield* passed(cursor, blanks);
    yield* element();
    byte = yield* toToken(cursor, blanks);
    if (byte === CLOSE_LIST) break;
    if (byte !== COMMA) yield* refuse(cursor, 'where , or ] should be');
    byte = yield* afterComma(cursor, blanks);
  }
  yield* passed(cursor, blanks);
  if (text) text.place = placeOf(cursor);
  cursor.at += 1;
}

/** Reads an object, member by member: `value` is to read that of each. */
export function* members(cursor: Cursor, value: (name: string, first: number) => Reading): Reading {
  cursor.at += 1;
  let byte = yield* toToken(cursor, 'held');
  while (byte !== CLOSE_OBJECT) {
    if (byte !== QUOTE) yield* refuse(cursor, 'where a key in double quotes should be');
    const name = yield* key(cursor);
    if ((yield* toToken(cursor, 'held')) !== COLON) yield* refuse(cursor, 'where : should be');
    cursor.at += 1;
    yield* value(name, yield* toToken(cursor, 'held'));
    byte = yield* toToken(cursor, 'held');
    if (byte === CLOSE_OBJECT) break;
    if (byte !== COMMA) yield* refuse(cursor, 'where , or } should be');
    byte = yield* afterComma(cursor, 'held');
  }
  cursor.at += 1;
}

function* afterComma(cursor: Cursor, blanks: 'between' | 'dropped' | 'held'): Reading<number> {
  const comma = placeOf(cursor);
  cursor.at += 1;
  const byte = yield* toToken(cursor, blanks);
  if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) throw unreadable(trailingComma(0), comma);
  return byte;
}

function* key(cursor: Cursor): Reading<string> {
  const place = placeOf(cursor);
  yield* overValue(cursor);
  const bytes = textFrom(cursor, place);
  const name = bytes.toString('utf8', 1, bytes.length - 1);
  return name.includes('\\') ? stringOf(rootOf(documentAt(bytes, place))) : name;
}

/** What of the text is between a place and the cursor. */
export function textFrom({ bytes, base, at }: Cursor, { offset }: Place): Buffer {
  return bytes.subarray(offset - base, at);
}
