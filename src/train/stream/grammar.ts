import { Buffer } from 'node:buffer';
import { parseFast } from '../../json/fast-parser.ts';
import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  END_OF_TEXT,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
} from '../../json/json-bytes.ts';
import { JsonError, trailingCommaError } from '../../json/json-error.ts';
import { type JsonDocument, kindName, rootOf, stringOf } from '../../json/json-node.ts';
import { hasByteOrderMark, rejectUtf16 } from '../../json/utf8.ts';
import {
  advancePastValue,
  appendChunk,
  type Cursor,
  createCursor,
  cursorLocation,
  type EventGenerator,
  emitConsumed,
  InvalidTextError,
  invalidJsonError,
  locationInside,
  nextToken,
  parseTextAt,
  parseTextPart,
  type TextForm,
  type TextLocation,
  type TrajectoryEvent,
  type TrajectoryPart,
  throwUnexpected,
} from './reader.ts';

/**
 * Reads a text chunk by chunk; memory is bounded by one trajectory, or one other field of a group or body. Each step yields
 * the events of one chunk; their bytes are valid until the next step. The consumer parses trajectories and texts
 * (`parseTextAt`, `parseEnvelope`); other errors throw InvalidTextError.
 */
export async function* readTrajectories(
  chunks: AsyncIterable<Uint8Array>,
  form: TextForm,
): AsyncGenerator<Iterable<TrajectoryEvent>> {
  const cursor = createCursor();
  const events = readText(cursor, form);
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

function* readText(cursor: Cursor, form: TextForm): EventGenerator {
  while (cursor.bytes.length < 3 && !cursor.isEnded) yield undefined;
  try {
    rejectUtf16(cursor.bytes);
  } catch (error) {
    throw error instanceof JsonError ? invalidJsonError(error, cursorLocation(cursor)) : error;
  }
  // Offsets are those in the file, columns those that an editor shows.
  if (hasByteOrderMark(cursor.bytes))
    Object.assign(cursor, { keepFrom: 3, at: 3, located: { offset: 3, line: 1, column: 1 } });
  yield* form === 'body' ? readBodyEvents(cursor) : readGroupEvents(cursor);
}

// Reads consecutive values to the end of the text: groups, single trajectories, and arrays of them.
function* readGroupEvents(cursor: Cursor): EventGenerator {
  for (;;) {
    const first = yield* nextToken(cursor, 'dropped');
    yield* emitConsumed(cursor, 'dropped');
    if (first === END_OF_TEXT) return;
    if (first === OPEN_ARRAY) yield* readArray(cursor, undefined, () => readGroup(cursor, 'in a list'));
    else yield* readGroup(cursor, 'alone');
  }
}

// Reads an object with its groups anywhere in it.
function* readBodyEvents(cursor: Cursor): EventGenerator {
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

// In a body every value counts as a group. Elsewhere, with a container, the field `trajectories` distinguishes a group from a
// trajectory; until then nothing is emitted.
function* readGroup(cursor: Cursor, container?: 'in a list' | 'alone'): EventGenerator {
  const location = cursorLocation(cursor);
  const pendingText = { location };
  let isGroup = !container;
  if (isGroup) yield { kind: 'group', location };
  if (cursor.bytes[cursor.at] !== OPEN_OBJECT) yield* advancePastValue(cursor);
  else
    yield* readObject(cursor, function* (name, byte) {
      if (container && name === 'trajectory_groups')
        throw new InvalidTextError('is a whole body, not a group; give the file with -f', location);
      if (name === 'trajectories' && !isGroup) {
        isGroup = true;
        yield { kind: 'group', location };
      }
      const isArray = name === 'trajectories' && byte === OPEN_ARRAY;
      yield* isArray ? readTrajectoryArray(cursor, pendingText) : advancePastValue(cursor);
    });
  if (container && !isGroup) return yield* emitTrajectory(cursor, location, container);
  yield* emitConsumed(cursor, 'text', pendingText.location);
  yield { kind: 'end' };
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
  if (document) cursor.at += document.bytes.length;
  return document;
}

// Trajectories of most files are about as long as the one before.
function isProbablyPartial({ bytes, at, lastTrajectoryBytes }: Cursor): boolean {
  return bytes.length - at < lastTrajectoryBytes;
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

// The start of the text of a group or body that was not emitted yet.
interface PendingText {
  location: TextLocation;
}

// Without `text`, drops the brackets and separators.
function* readArray(cursor: Cursor, text: PendingText | undefined, readElement: () => EventGenerator): EventGenerator {
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

function* readObject(cursor: Cursor, readValue: (name: string, first: number) => EventGenerator): EventGenerator {
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

function bytesSince({ bytes, baseOffset, at }: Cursor, { offset }: TextLocation): Buffer {
  return bytes.subarray(offset - baseOffset, at);
}

/** A group or a body with its arrays empty: all of it but the trajectories. */
export interface Envelope {
  readonly bytes: Buffer;
  readonly locationAt: (offset: number) => TextLocation;
}

export interface TextPart {
  readonly bytes: Buffer;
  readonly location: TextLocation;
}

export function copyTextPart({ bytes, location }: TextPart): TextPart {
  return { bytes: Buffer.from(bytes), location };
}

/** Takes the events of a body one by one, and adds copies of its texts outside of groups to `parts`. */
export function createBodyTextCollector(parts: TextPart[]): (event: TrajectoryEvent) => void {
  let isInGroup = false;
  return (event) => {
    if (event.kind === 'group') isInGroup = true;
    if (event.kind === 'end') isInGroup = false;
    if (event.kind === 'text' && !isInGroup) parts.push(copyTextPart(event));
  };
}

export function createEnvelope(parts: readonly TextPart[]): Envelope {
  const [only] = parts;
  const bytes = parts.length === 1 && only ? only.bytes : Buffer.concat(parts.map((part) => part.bytes));
  return {
    bytes,
    locationAt: (offset) => {
      let before = 0;
      for (const part of parts.slice(0, -1)) {
        if (offset < before + part.bytes.length) return locationInside(part.bytes, part.location, offset - before);
        before += part.bytes.length;
      }
      const last = parts.at(-1);
      return last ? locationInside(last.bytes, last.location, offset - before) : { offset, line: 1, column: 1 };
    },
  };
}

export function parseEnvelope({ bytes, locationAt }: Envelope): JsonDocument {
  return parseTextPart(bytes, locationAt);
}
