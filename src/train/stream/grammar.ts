import { parseFast } from '../../json/fast-parser.ts';
import { END_OF_TEXT, OPEN_ARRAY, OPEN_OBJECT } from '../../json/json-bytes.ts';
import { JsonError } from '../../json/json-error.ts';
import { type JsonDocument, kindName, rootOf } from '../../json/json-node.ts';
import { bytesSince, type PendingText, readArray, readObject } from './containers.ts';
import { addContinuationBytes, addLines, type Cursor, cursorLocation } from './cursor.ts';
import { InvalidTextError, invalidJsonError, parseTextAt } from './invalid-text-error.ts';
import type { TextLocation } from './text-location.ts';
import {
  advancePastValue,
  type EventGenerator,
  emitConsumed,
  emitValue,
  nextToken,
  throwUnexpected,
} from './tokens.ts';
import type { TrajectoryEvent } from './trajectory-event.ts';

type TrajectoryContainer = Extract<TrajectoryEvent, { kind: 'trajectory' }>['container'];

/** Reads consecutive values to the end of the text: groups, single trajectories, and arrays of them. */
export function readGroupEvents(cursor: Cursor): EventGenerator {
  return readElements(cursor, (container) => readGroupOrTrajectory(cursor, container));
}

/** Reads the same values without looking inside them. */
export function readElementEvents(cursor: Cursor): EventGenerator {
  return readElements(cursor, function* () {
    const location = cursorLocation(cursor);
    yield { kind: 'group', location };
    yield* emitValue(cursor, location);
    yield { kind: 'end' };
  });
}

function* readElements(
  cursor: Cursor,
  readElement: (container: TrajectoryContainer) => EventGenerator,
): EventGenerator {
  for (;;) {
    const first = yield* nextToken(cursor, 'dropped');
    yield* emitConsumed(cursor, 'dropped');
    if (first === END_OF_TEXT) return;
    if (first === OPEN_ARRAY) yield* readArray(cursor, undefined, () => readElement('in a list'));
    else yield* readElement('alone');
  }
}

/** Reads a whole body: an object with its groups anywhere in it. */
export function* readBodyEvents(cursor: Cursor): EventGenerator {
  const pendingText = { location: cursorLocation(cursor) };
  const first = yield* nextToken(cursor, 'held');
  const location = cursorLocation(cursor);
  if (first === END_OF_TEXT) throw invalidJsonError(new JsonError('the text is empty', 0), location);
  if (first !== OPEN_OBJECT) {
    yield* advancePastValue(cursor);
    throw new InvalidTextError(
      `must be an object, not ${kindName(rootOf(parseTextAt(bytesSince(cursor, location), location)))}`,
      location,
    );
  }
  yield* readObject(cursor, (name, byte) =>
    name === 'trajectory_groups' && byte === OPEN_ARRAY
      ? readArray(cursor, pendingText, () => readGroup(cursor))
      : advancePastValue(cursor),
  );
  if ((yield* nextToken(cursor, 'held')) !== END_OF_TEXT) yield* throwUnexpected(cursor, 'the end of the input');
  yield* emitConsumed(cursor, 'text', pendingText.location);
}

function* readGroup(cursor: Cursor): EventGenerator {
  const pendingText = { location: cursorLocation(cursor) };
  yield { kind: 'group', location: pendingText.location };
  if (cursor.bytes[cursor.at] !== OPEN_OBJECT) yield* advancePastValue(cursor);
  else
    yield* readObject(cursor, (name, byte) =>
      isTrajectoryArray(name, byte) ? readTrajectoryArray(cursor, pendingText) : advancePastValue(cursor),
    );
  yield* emitConsumed(cursor, 'text', pendingText.location);
  yield { kind: 'end' };
}

// The field `trajectories` distinguishes a group from a trajectory; until then nothing is emitted.
function* readGroupOrTrajectory(cursor: Cursor, container: TrajectoryContainer): EventGenerator {
  const location = cursorLocation(cursor);
  const pendingText = { location };
  let isGroup = false;
  if (cursor.bytes[cursor.at] !== OPEN_OBJECT) yield* advancePastValue(cursor);
  else
    yield* readObject(cursor, function* (name, byte) {
      if (name === 'trajectory_groups')
        throw new InvalidTextError('is a whole body, not a group; give the file with -f', location);
      if (name === 'trajectories' && !isGroup) yield { kind: 'group', location };
      isGroup ||= name === 'trajectories';
      yield* isTrajectoryArray(name, byte) ? readTrajectoryArray(cursor, pendingText) : advancePastValue(cursor);
    });
  if (!isGroup) return yield* emitTrajectory(cursor, location, container);
  yield* emitConsumed(cursor, 'text', pendingText.location);
  yield { kind: 'end' };
}

function isTrajectoryArray(name: string, first: number): boolean {
  return name === 'trajectories' && first === OPEN_ARRAY;
}

function readTrajectoryArray(cursor: Cursor, pendingText: PendingText): EventGenerator {
  return readArray(cursor, pendingText, function* () {
    const location = cursorLocation(cursor);
    // The next chunk completes most trajectories; skipping the available part would take longer than parsing all of it.
    if (isProbablyPartial(cursor) && !cursor.isEnded) yield undefined;
    const document = parseCompleteTrajectory(cursor);
    if (!document) yield* advancePastValue(cursor);
    yield* emitTrajectory(cursor, location, 'in a group', document);
  });
}

// Parses a trajectory whose bytes are all in memory without skipping it first. Undefined for a partial or invalid one, which
// advancePastValue handles.
function parseCompleteTrajectory(cursor: Cursor): JsonDocument | undefined {
  const { bytes, at: start } = cursor;
  if (bytes[start] !== OPEN_OBJECT || isProbablyPartial(cursor)) return undefined;
  const document = parseFast(bytes, start);
  if (!document) return undefined;
  cursor.at = start + document.bytes.length;
  addLines(cursor, start);
  addContinuationBytes(cursor, start);
  return document;
}

// Trajectories of most files are about as long as the one before.
function isProbablyPartial({ bytes, at, lastTrajectoryBytes }: Cursor): boolean {
  return bytes.length - at < lastTrajectoryBytes;
}

function* emitTrajectory(
  cursor: Cursor,
  location: TextLocation,
  container: TrajectoryContainer,
  complete?: JsonDocument,
): EventGenerator {
  const bytes = cursor.bytes.subarray(cursor.keepFrom, cursor.at);
  const parsed = complete ?? parseFast(cursor.bytes, cursor.keepFrom);
  const document = parsed?.bytes.length === bytes.length ? parsed : undefined;
  cursor.keepFrom = cursor.at;
  cursor.lastTrajectoryBytes = bytes.length;
  yield { kind: 'trajectory', location, bytes, container, document };
}
