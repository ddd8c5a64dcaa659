import type { Buffer } from 'node:buffer';
import { parseFast } from '../../json/fast-parser.ts';
import * as ascii from '../../json/json-bytes.ts';
import { JsonError, trailingCommaError, unexpectedByteError } from '../../json/json-error.ts';
import { type JsonDocument, kindName, rootOf, stringOf } from '../../json/json-node.ts';
import { skipValue, skipWhitespace } from '../../json/parse-json.ts';
import { hasByteOrderMark, rejectUtf16 } from '../../json/utf8.ts';
import { scalarEnd } from '../../json/write-json.ts';
import {
  appendChunk,
  bytesSince,
  type Cursor,
  createCursor,
  cursorLocation,
  InvalidTextError,
  invalidJsonError,
  locationInside,
  parseTextAt,
  type TextLocation,
  type TextPart,
  withLocation,
} from './text-position.ts';

/** A trajectory, or any other value in place of one. */
export interface TrajectoryPart {
  readonly kind: 'trajectory';
  readonly location: TextLocation;
  readonly bytes: Buffer;
  readonly container: 'in a group' | 'in a list' | 'alone';
  /** The parsed bytes, if they were parsed while reading; valid until the next event. */
  readonly document: JsonDocument | undefined;
}

/** The bytes of all events from `group` to `end` are the group as written; those of all events of a body are the body. */
export type TrajectoryEvent =
  /** A group starts, or any other value in place of one. */
  | { readonly kind: 'group'; readonly location: TextLocation }
  | TrajectoryPart
  /** Other fields of a group or body. Together they are that group or body with empty arrays. */
  | ({ readonly kind: 'text' } & TextPart)
  /** Commas and whitespace between the elements of an array. */
  | { readonly kind: 'between'; readonly bytes: Buffer }
  | { readonly kind: 'end' };

/** What a text contains: groups (or trajectories), in an array or one after the other; or a whole body. */
export type TextForm = 'groups' | 'body';

type OnInvalid = (error: InvalidTextError) => void;

type EventGenerator<T = void> = Generator<TrajectoryEvent | undefined, T, void>;

/**
 * Reads a text chunk by chunk; memory is bounded by one trajectory, or one other field of a group or body. Each step yields
 * the events of one chunk; their bytes are valid until the next step. The consumer parses trajectories and texts
 * (`parseTextAt`, `createEnvelope`); other errors throw InvalidTextError. `onInvalid` gets an error in a
 * line instead, if a later one starts with an object: that one is read next.
 */
export async function* readTrajectories(
  chunks: AsyncIterable<Uint8Array>,
  form: TextForm,
  onInvalid?: OnInvalid,
): AsyncGenerator<Iterable<TrajectoryEvent>> {
  const cursor = createCursor();
  const events = readText(cursor, form, onInvalid);
  for await (const chunk of chunks) {
    appendChunk(cursor, chunk);
    yield availableEvents(events);
  }
  cursor.isEnded = true;
  yield availableEvents(events);
}

function* availableEvents(events: EventGenerator): Generator<TrajectoryEvent> {
  for (;;) {
    const { value } = events.next();
    if (value === undefined) return;
    yield value;
  }
}

function* readText(cursor: Cursor, form: TextForm, onInvalid?: OnInvalid): EventGenerator {
  while (cursor.bytes.length < 3 && !cursor.isEnded) yield undefined;
  withLocation(
    () => rejectUtf16(cursor.bytes),
    () => cursorLocation(cursor),
  );
  // Offsets are those in the file, columns those that an editor shows.
  if (hasByteOrderMark(cursor.bytes))
    Object.assign(cursor, { keepFrom: 3, at: 3, located: { offset: 3, line: 1, column: 1 } });
  yield* form === 'body' ? readBody(cursor) : readGroups(cursor, onInvalid);
}

// Reads consecutive values to the end of the text: groups, single trajectories, and arrays of them.
function* readGroups(cursor: Cursor, onInvalid?: OnInvalid): EventGenerator {
  for (;;) {
    const first = yield* nextToken(cursor, 'dropped');
    yield* emitConsumed(cursor, 'dropped');
    if (first === ascii.END_OF_TEXT) return;
    const start = cursorLocation(cursor);
    try {
      if (first === ascii.OPEN_ARRAY) yield* readElements(cursor, 'dropped', () => readGroup(cursor, 'in a list'));
      else yield* readGroup(cursor, 'alone');
    } catch (error) {
      if (!(error instanceof InvalidTextError) || first === ascii.OPEN_ARRAY) throw error;
      const isHeld = error.location.offset >= cursor.baseOffset + cursor.keepFrom;
      if (isHeld && error.location.offset < cursor.located.offset) cursor.located = error.location;
      const record = yield* findNextRecord(cursor, start, error.location);
      const cause = record ? cutOffError(start, record) : error;
      if (record) Object.assign(cursor, { located: record, at: record.offset - cursor.baseOffset });
      if (!onInvalid || !(record || (yield* skipToNextLine(cursor, start)))) throw cause;
      cursor.keepFrom = cursor.at;
      onInvalid(cause);
    }
  }
}

// In JSON Lines, the record whose line an unfinished value ran into, before its error: an object at the start of a line that is
// valid by itself, and is followed by another or the end. In a value of several lines, a comma or a bracket follows.
function* findNextRecord(
  cursor: Cursor,
  start: TextLocation,
  end: TextLocation,
): EventGenerator<TextLocation | undefined> {
  const { located, textStart } = cursor;
  const held = textStart.offset < cursor.baseOffset + cursor.keepFrom ? located : textStart;
  const offset = held.offset - cursor.baseOffset;
  const isAtLine = held.column === 1 && held.offset > start.offset && cursor.bytes[offset] === ascii.OPEN_OBJECT;
  const lineFeed = isAtLine ? offset - 1 : cursor.bytes.indexOf('\n{', offset);
  const at = lineFeed + 1;
  if ((lineFeed < 0 && !isAtLine) || cursor.baseOffset + at > end.offset) return undefined;
  const record = locationInside(cursor.bytes.subarray(offset), held, at - offset);
  Object.assign(cursor, { at, located: record });
  try {
    yield* advancePastValue(cursor);
    parseTextAt(bytesSince(cursor, record), record);
    const next = yield* nextToken(cursor, 'held');
    return next === ascii.OPEN_OBJECT || next === ascii.END_OF_TEXT ? record : undefined;
  } catch (error) {
    if (error instanceof InvalidTextError) return undefined;
    throw error;
  } finally {
    cursor.located = located;
  }
}

function cutOffError(start: TextLocation, { line }: TextLocation): InvalidTextError {
  const fix = 'complete the line if it was cut off';
  return invalidJsonError(new JsonError(`not complete where line ${line} starts another object`, 0, fix), start);
}

// Continues at the first line after the start of an invalid value that starts with an object; false without one.
function* skipToNextLine(cursor: Cursor, start: TextLocation): EventGenerator<boolean> {
  const { located, baseOffset } = cursor;
  cursor.at = cursor.keepFrom = located.offset - baseOffset;
  const isAtLine = located.column === 1 && located.offset > start.offset;
  if (isAtLine && cursor.bytes[cursor.at] === ascii.OPEN_OBJECT) return true;
  for (;;) {
    const lineFeed = cursor.bytes.indexOf('\n{', cursor.at);
    cursor.at = cursor.keepFrom = lineFeed < 0 ? Math.max(cursor.at, cursor.bytes.length - 1) : lineFeed + 1;
    if (lineFeed >= 0 || cursor.isEnded) return lineFeed >= 0;
    yield undefined;
  }
}

function* readBody(cursor: Cursor): EventGenerator {
  cursor.textStart = cursorLocation(cursor);
  const first = yield* nextToken(cursor, 'held');
  const location = cursorLocation(cursor);
  if (first === ascii.END_OF_TEXT) throw invalidJsonError(new JsonError('the text is empty', 0), location);
  if (first !== ascii.OPEN_OBJECT) {
    yield* advancePastValue(cursor);
    const kind = kindName(rootOf(parseTextAt(bytesSince(cursor, location), location)));
    throw new InvalidTextError(`must be an object, not ${kind}`, location);
  }
  yield* readMembers(cursor, (name, byte) =>
    name === 'trajectory_groups' && byte === ascii.OPEN_ARRAY
      ? readElements(cursor, 'between', () => readGroup(cursor))
      : advancePastValue(cursor),
  );
  if ((yield* nextToken(cursor, 'held')) !== ascii.END_OF_TEXT) yield* throwUnexpected(cursor, 'the end of the input');
  yield* emitConsumed(cursor, 'text');
}

// In a body every value counts as a group. In a container, only the field `trajectories` shows that a value is one.
function* readGroup(cursor: Cursor, container?: 'in a list' | 'alone'): EventGenerator {
  const location = cursorLocation(cursor);
  cursor.textStart = location;
  let isGroup = !container;
  if (isGroup) yield { kind: 'group', location };
  if (cursor.bytes[cursor.at] !== ascii.OPEN_OBJECT) yield* advancePastValue(cursor);
  else
    yield* readMembers(cursor, function* (name, byte) {
      if (container && name === 'trajectory_groups')
        throw new InvalidTextError('is a whole body, not a group; give the file with -f', location);
      if (name === 'trajectories' && !isGroup) {
        isGroup = true;
        yield { kind: 'group', location };
      }
      if (name === 'trajectories' && byte === ascii.OPEN_ARRAY)
        return yield* readElements(cursor, 'between', () => readGroupedTrajectory(cursor));
      const valueLocation = cursorLocation(cursor);
      yield* advancePastValue(cursor);
      if (container && isGroup) rejectCutString(bytesSince(cursor, valueLocation), valueLocation);
    });
  if (container && !isGroup) return yield* emitTrajectory(cursor, location, container);
  yield* emitConsumed(cursor, 'text');
  yield { kind: 'end' };
}

function* readGroupedTrajectory(cursor: Cursor): EventGenerator {
  const location = cursorLocation(cursor);
  cursor.textStart = location;
  // Most are about as long as the one before. To skip a part would take longer than to parse all of it with the next chunk.
  const isProbablyPartial = (): boolean => cursor.bytes.length - cursor.at < cursor.lastTrajectoryBytes;
  if (isProbablyPartial() && !cursor.isEnded) yield undefined;
  const canParse = location.column > 1 && cursor.bytes[cursor.at] === ascii.OPEN_OBJECT;
  const isParsed = canParse && !isProbablyPartial();
  const document = isParsed ? parseFast(cursor.bytes, cursor.at) : undefined;
  if (document) cursor.at += document.bytes.length;
  else yield* advancePastValue(cursor);
  if (location.column === 1) yield* expectSeparator(cursor);
  yield* emitTrajectory(cursor, location, 'in a group', document);
}

// An element that starts a line may be the next record of JSON Lines; then nothing of it is emitted.
function* expectSeparator(cursor: Cursor): EventGenerator {
  const length = cursor.at - cursor.keepFrom;
  const next = yield* nextToken(cursor, 'held');
  if (next !== ascii.COMMA && next !== ascii.CLOSE_ARRAY) yield* throwUnexpected(cursor, '"," or "]"');
  cursor.at = cursor.keepFrom + length;
}

function* emitTrajectory(
  cursor: Cursor,
  location: TextLocation,
  container: TrajectoryPart['container'],
  complete?: JsonDocument,
): EventGenerator {
  const bytes = cursor.bytes.subarray(cursor.keepFrom, cursor.at);
  const parsed = complete ?? parseFast(cursor.bytes, cursor.keepFrom);
  const document = parsed?.bytes.length === bytes.length ? parsed : undefined;
  if (!document && container !== 'in a list') rejectCutString(bytes, location);
  cursor.keepFrom = cursor.at;
  cursor.lastTrajectoryBytes = bytes.length;
  yield { kind: 'trajectory', location, bytes, container, document };
}

// An unclosed string would end in the next record. Other errors are left to who parses the value.
function rejectCutString(bytes: Buffer, location: TextLocation): void {
  if (bytes.includes('\n{'))
    parseOrThrowIf((offset) => bytes.subarray(offset, offset + 3).includes('\n{'), bytes, location);
}

function parseOrThrowIf(isFatal: (offset: number) => boolean, bytes: Buffer, location: TextLocation): void {
  try {
    parseTextAt(bytes, location);
  } catch (error) {
    if (isFatal(error instanceof InvalidTextError ? error.location.offset - location.offset : 0)) throw error;
  }
}

function readMembers(cursor: Cursor, readValue: (name: string, first: number) => EventGenerator): EventGenerator {
  return readElements(cursor, 'held', function* (first) {
    if (first !== ascii.QUOTE) yield* throwUnexpected(cursor, 'a key in double quotes');
    const location = cursorLocation(cursor);
    yield* advancePastValue(cursor);
    const key = bytesSince(cursor, location);
    const text = key.toString('utf8', 1, key.length - 1);
    const name = /[\\\n]/.test(text) ? stringOf(rootOf(parseTextAt(key, location))) : text;
    if ((yield* nextToken(cursor, 'held')) !== ascii.COLON) yield* throwUnexpected(cursor, '":"');
    cursor.at += 1;
    yield* readValue(name, yield* nextToken(cursor, 'held'));
  });
}

// How whitespace and commas are treated: emitted between elements, dropped with the brackets, or kept with the pending text.
type SeparatorMode = 'between' | 'dropped' | 'held';

// Reads an array or object; the bytes outside of the elements of an array are text, unless they are dropped.
function* readElements(
  cursor: Cursor,
  separators: SeparatorMode,
  readElement: (first: number) => EventGenerator,
): EventGenerator {
  const isArray = cursor.bytes[cursor.at] === ascii.OPEN_ARRAY;
  const close = isArray ? ascii.CLOSE_ARRAY : ascii.CLOSE_OBJECT;
  cursor.at += 1;
  yield* emitConsumed(cursor, separators === 'between' ? 'text' : separators);
  let byte = yield* nextToken(cursor, separators);
  while (byte !== close) {
    yield* emitConsumed(cursor, separators);
    yield* readElement(byte);
    byte = yield* nextToken(cursor, separators);
    if (byte === close) break;
    if (byte !== ascii.COMMA) yield* throwUnexpected(cursor, isArray ? '"," or "]"' : '"," or "}"');
    const comma = cursorLocation(cursor);
    cursor.at += 1;
    byte = yield* nextToken(cursor, separators);
    if (byte === ascii.CLOSE_ARRAY || byte === ascii.CLOSE_OBJECT) throw invalidJsonError(trailingCommaError(0), comma);
  }
  yield* emitConsumed(cursor, separators);
  if (separators === 'between') cursor.textStart = cursorLocation(cursor);
  cursor.at += 1;
}

// Returns the byte of the next token or ascii.END_OF_TEXT.
function* nextToken(cursor: Cursor, separators: SeparatorMode): EventGenerator<number> {
  for (;;) {
    cursor.at = skipWhitespace(cursor.bytes, cursor.at);
    const byte = cursor.bytes[cursor.at];
    if (byte !== undefined) return byte;
    yield* emitConsumed(cursor, separators);
    if (cursor.isEnded) return ascii.END_OF_TEXT;
    yield undefined;
  }
}

function* emitConsumed(cursor: Cursor, as: SeparatorMode | 'text'): EventGenerator {
  if (as === 'held' || cursor.keepFrom === cursor.at) return;
  const bytes = cursor.bytes.subarray(cursor.keepFrom, cursor.at);
  cursor.keepFrom = cursor.at;
  if (as === 'text') yield { kind: 'text', bytes, location: cursor.textStart };
  else if (as === 'between') yield { kind: 'between', bytes };
}

// A longer value is parsed before it is complete: an error in it may hide its end.
const EARLY_CHECK_BYTES = 8 * 1024 * 1024;

// An error this close to the last byte may disappear with the next chunk.
const UNCERTAIN_TAIL_BYTES = 16;

function* advancePastValue(cursor: Cursor): EventGenerator {
  const location = cursorLocation(cursor);
  // Strings, objects and arrays have a closing byte. Numbers and literals end before a separator; parseJson validates them.
  const isDelimited = [ascii.QUOTE, ascii.OPEN_OBJECT, ascii.OPEN_ARRAY].includes(cursor.bytes[cursor.at] ?? 0);
  const advance = (): boolean => {
    if (isDelimited) return skipValue(cursor.bytes, cursor);
    cursor.at = scalarEnd(cursor.bytes, cursor.at);
    return cursor.at < cursor.bytes.length;
  };
  cursor.depth = 0;
  cursor.isInString = false;
  let nextCheckBytes = EARLY_CHECK_BYTES;
  while (!advance() && (isDelimited || !cursor.isEnded)) {
    const bytes = bytesSince(cursor, location);
    if (cursor.isEnded || bytes.length > nextCheckBytes) {
      // More bytes can make the beginning of a value valid.
      parseOrThrowIf((offset) => cursor.isEnded || offset < bytes.length - UNCERTAIN_TAIL_BYTES, bytes, location);
      nextCheckBytes *= 2;
    }
    yield undefined;
  }
  if (bytesSince(cursor, location).length === 0) yield* throwUnexpected(cursor, 'a value');
}

function* throwUnexpected(cursor: Cursor, expected: string): EventGenerator<never> {
  // A character may have four bytes.
  while (!cursor.isEnded && cursor.bytes.length - cursor.at < 4) yield undefined;
  const rest = cursor.bytes.subarray(cursor.at, cursor.at + 4);
  throw invalidJsonError(unexpectedByteError(rest, 0, expected), cursorLocation(cursor));
}
