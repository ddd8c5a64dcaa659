import { Buffer } from 'node:buffer';
import { formatByteSize } from '../../files/byte-size.ts';
import { parseFast } from '../../json/fast-parser.ts';
import * as ascii from '../../json/json-bytes.ts';
import { JsonError, trailingCommaError, unexpectedByteError } from '../../json/json-error.ts';
import { type JsonDocument, kindName, rootOf, stringOf } from '../../json/json-node.ts';
import { skipValue, skipWhitespace } from '../../json/parse-json.ts';
import { hasByteOrderMark, rejectUtf16 } from '../../json/utf8.ts';
import { scalarEnd } from '../../json/write-json.ts';
import {
  InvalidTextError,
  invalidJsonError,
  locationInside,
  parseTextAt,
  type TextLocation,
  type TextPart,
  withLocation,
} from './text-error.ts';

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
      if (!onInvalid || !(error instanceof InvalidTextError)) throw error;
      if (first === ascii.OPEN_ARRAY || !(yield* skipToNextLine(cursor, start))) throw error;
      onInvalid(error);
    }
  }
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
      const isArray = name === 'trajectories' && byte === ascii.OPEN_ARRAY;
      yield* isArray ? readElements(cursor, 'between', () => readGroupedTrajectory(cursor)) : advancePastValue(cursor);
    });
  if (container && !isGroup) return yield* emitTrajectory(cursor, location, container);
  yield* emitConsumed(cursor, 'text');
  yield { kind: 'end' };
}

function* readGroupedTrajectory(cursor: Cursor): EventGenerator {
  const location = cursorLocation(cursor);
  // Most are about as long as the one before. To skip a part would take longer than to parse all of it with the next chunk.
  const isProbablyPartial = (): boolean => cursor.bytes.length - cursor.at < cursor.lastTrajectoryBytes;
  if (isProbablyPartial() && !cursor.isEnded) yield undefined;
  const isParsed = cursor.bytes[cursor.at] === ascii.OPEN_OBJECT && !isProbablyPartial();
  const document = isParsed ? parseFast(cursor.bytes, cursor.at) : undefined;
  if (document) cursor.at += document.bytes.length;
  else yield* advancePastValue(cursor);
  yield* emitTrajectory(cursor, location, 'in a group', document);
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
  cursor.keepFrom = cursor.at;
  cursor.lastTrajectoryBytes = bytes.length;
  yield { kind: 'trajectory', location, bytes, container, document };
}

function readMembers(cursor: Cursor, readValue: (name: string, first: number) => EventGenerator): EventGenerator {
  return readElements(cursor, 'held', function* (first) {
    if (first !== ascii.QUOTE) yield* throwUnexpected(cursor, 'a key in double quotes');
    const location = cursorLocation(cursor);
    yield* advancePastValue(cursor);
    const key = bytesSince(cursor, location);
    const text = key.toString('utf8', 1, key.length - 1);
    const name = text.includes('\\') ? stringOf(rootOf(parseTextAt(key, location))) : text;
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
      parseBeginning(bytes, location, cursor.isEnded);
      nextCheckBytes *= 2;
    }
    yield undefined;
  }
  if (bytesSince(cursor, location).length === 0) yield* throwUnexpected(cursor, 'a value');
}

// Throws InvalidTextError for the beginning of a value if no more bytes can make it valid.
function parseBeginning(bytes: Buffer, location: TextLocation, isAll: boolean): void {
  try {
    parseTextAt(bytes, location);
  } catch (error) {
    const offset = error instanceof InvalidTextError ? error.location.offset - location.offset : 0;
    if (isAll || offset < bytes.length - UNCERTAIN_TAIL_BYTES) throw error;
  }
}

function* throwUnexpected(cursor: Cursor, expected: string): EventGenerator<never> {
  // A character may have four bytes.
  while (!cursor.isEnded && cursor.bytes.length - cursor.at < 4) yield undefined;
  const rest = cursor.bytes.subarray(cursor.at, cursor.at + 4);
  throw invalidJsonError(unexpectedByteError(rest, 0, expected), cursorLocation(cursor));
}

// The position in a text of which only a part is in memory. Offsets are relative to that part.
type Cursor = ReturnType<typeof createCursor>;

function createCursor() {
  const start: TextLocation = { offset: 0, line: 1, column: 1 };
  return {
    // With the nesting there while a value is skipped; in a string, it may be one byte beyond the end.
    at: 0,
    depth: 0,
    isInString: false,
    bytes: Buffer.alloc(0),
    buffer: Buffer.alloc(0),
    // The first byte that is still needed.
    keepFrom: 0,
    // The number of bytes of the text before `bytes`.
    baseOffset: 0,
    // The last location that was needed; lines are counted from there.
    located: start,
    // Where the text of a group or body begins that was not emitted yet.
    textStart: start,
    lastTrajectoryBytes: 0,
    isEnded: false,
  };
}

// The index of a document counts in 32-bit numbers.
const MAX_VALUE_BYTES = 2 ** 31 - 1;

// Appends a copy of a chunk, and reuses the memory before `keepFrom`.
function appendChunk(cursor: Cursor, chunk: Uint8Array): void {
  const { bytes, keepFrom } = cursor;
  if (cursor.located.offset < cursor.baseOffset + keepFrom) cursorLocation(cursor, keepFrom);
  const retained = bytes.subarray(keepFrom);
  const neededBytes = retained.length + chunk.length;
  if (neededBytes > MAX_VALUE_BYTES)
    throw new InvalidTextError(`one value has more than ${formatByteSize(MAX_VALUE_BYTES)}`, cursorLocation(cursor));
  const larger =
    neededBytes > cursor.buffer.length ? Buffer.allocUnsafeSlow(Math.min(MAX_VALUE_BYTES, 2 * neededBytes)) : undefined;
  const buffer = larger ?? cursor.buffer;
  if (larger || keepFrom > 0) buffer.set(retained);
  buffer.set(chunk, retained.length);
  cursor.buffer = buffer;
  cursor.bytes = buffer.subarray(0, neededBytes);
  cursor.keepFrom = 0;
  cursor.baseOffset += keepFrom;
  cursor.at -= keepFrom;
}

// Moves `located` to a position that is not before it.
function cursorLocation(cursor: Cursor, at = cursor.at): TextLocation {
  const { bytes, baseOffset, located } = cursor;
  if (baseOffset + at === located.offset) return located;
  const passed = bytes.subarray(located.offset - baseOffset, at);
  cursor.located = locationInside(passed, located, passed.length);
  return cursor.located;
}

function bytesSince({ bytes, baseOffset, at }: Cursor, { offset }: TextLocation): Buffer {
  return bytes.subarray(offset - baseOffset, at);
}
