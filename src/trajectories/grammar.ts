import { JsonError } from '../json/json-error.ts';
import { kindName, rootOf } from '../json/node.ts';
import { list, members, textFrom, type Unpassed } from './containers.ts';
import { type Cursor, placeOf } from './cursor.ts';
import type { Passing } from './passing.ts';
import type { Place } from './place.ts';
import { END, overValue, passed, type Reading, refuse, toToken, valuePassed } from './tokens.ts';
import { documentAt, UnreadableText, unreadable } from './unreadable-text.ts';

const OPEN_LIST = 0x5b;
const OPEN_OBJECT = 0x7b;

type Standing = Extract<Passing, { kind: 'trajectory' }>['stands'];

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
