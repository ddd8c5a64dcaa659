import type { Buffer } from 'node:buffer';
import { JsonError } from '../json/json-error.ts';
import { kindName, rootOf, stringOf } from '../json/node.ts';
import { trailingComma } from '../json/unexpected.ts';
import { type Cursor, placeOf } from './cursor.ts';
import type { Passing } from './passing.ts';
import type { Place } from './place.ts';
import { END, overValue, passed, type Reading, refuse, toToken, valuePassed } from './tokens.ts';
import { documentAt, UnreadableText, unreadable } from './unreadable-text.ts';

const COMMA = 0x2c;
const COLON = 0x3a;
const QUOTE = 0x22;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

type Standing = Extract<Passing, { kind: 'trajectory' }>['stands'];

/** Where the text of a group or body that has not passed yet begins. */
interface Unpassed {
  place: Place;
}

/** Reads values that follow each other, to the end of the text: groups, trajectories that are alone, and lists of them. */
export function sequence(cursor: Cursor): Reading {
  return elements(cursor, (stands) => groupOrTrajectory(cursor, stands));
}

/** Reads the same without looking into any of them. */
export function unread(cursor: Cursor): Reading {
  return elements(cursor, function* () {
    const place = placeOf(cursor);
    yield { kind: 'group', place };
    yield* valuePassed(cursor, place);
    yield { kind: 'end' };
  });
}

function* elements(cursor: Cursor, element: (stands: Standing) => Reading): Reading {
  for (;;) {
    const first = yield* toToken(cursor, 'dropped');
    yield* passed(cursor, 'dropped');
    if (first === END) return;
    if (first === OPEN_LIST) yield* list(cursor, undefined, () => element('in a list'));
    else yield* element('alone');
  }
}

/** Reads a whole body: an object, whose groups may stand anywhere in it. */
export function* wholeBody(cursor: Cursor): Reading {
  const text = { place: placeOf(cursor) };
  const first = yield* toToken(cursor, 'held');
  const place = placeOf(cursor);
  if (first === END) throw unreadable(new JsonError('there is no JSON here, the text is empty', 0), place);
  if (first !== OPEN_OBJECT) {
    yield* overValue(cursor);
    throw new UnreadableText(
      `must be an object, not ${kindName(rootOf(documentAt(textFrom(cursor, place), place)))}`,
      place,
    );
  }
  yield* members(cursor, (name, byte) =>
    name === 'trajectory_groups' && byte === OPEN_LIST ? list(cursor, text, () => group(cursor)) : overValue(cursor),
  );
  if ((yield* toToken(cursor, 'held')) !== END) yield* refuse(cursor, 'after the end of the value');
  yield* passed(cursor, 'text', text.place);
}

function* group(cursor: Cursor): Reading {
  const text = { place: placeOf(cursor) };
  yield { kind: 'group', place: text.place };
  if (cursor.bytes[cursor.at] !== OPEN_OBJECT) yield* overValue(cursor);
  else yield* members(cursor, (name, byte) => (isRuns(name, byte) ? runs(cursor, text) : overValue(cursor)));
  yield* passed(cursor, 'text', text.place);
  yield { kind: 'end' };
}

// Which of the two it is shows only where its trajectories begin; until then it is held.
function* groupOrTrajectory(cursor: Cursor, stands: Standing): Reading {
  const place = placeOf(cursor);
  const text = { place };
  let isGroup = false;
  if (cursor.bytes[cursor.at] !== OPEN_OBJECT) yield* overValue(cursor);
  else
    yield* members(cursor, function* (name, byte) {
      if (name === 'trajectory_groups')
        throw new UnreadableText('is a whole body, not a group; give the file with -f', place);
      if (name === 'trajectories' && !isGroup) yield { kind: 'group', place };
      isGroup ||= name === 'trajectories';
      yield* isRuns(name, byte) ? runs(cursor, text) : overValue(cursor);
    });
  if (!isGroup) return yield* trajectoryPassed(cursor, place, stands);
  yield* passed(cursor, 'text', text.place);
  yield { kind: 'end' };
}

function isRuns(name: string, first: number): boolean {
  return name === 'trajectories' && first === OPEN_LIST;
}

function runs(cursor: Cursor, text: Unpassed): Reading {
  return list(cursor, text, function* () {
    const place = placeOf(cursor);
    yield* overValue(cursor);
    yield* trajectoryPassed(cursor, place, 'in a group');
  });
}

function* trajectoryPassed(cursor: Cursor, place: Place, stands: Standing): Reading {
  const bytes = cursor.bytes.subarray(cursor.kept, cursor.at);
  cursor.kept = cursor.at;
  yield { kind: 'trajectory', place, bytes, stands };
}

// Without a text around it the brackets and all between the elements are dropped.
function* list(cursor: Cursor, text: Unpassed | undefined, element: () => Reading): Reading {
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

function* members(cursor: Cursor, value: (name: string, first: number) => Reading): Reading {
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

function textFrom({ bytes, base, at }: Cursor, { offset }: Place): Buffer {
  return bytes.subarray(offset - base, at);
}
