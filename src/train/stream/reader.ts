import { Buffer } from 'node:buffer';
import { formatByteSize } from '../../files/byte-size.ts';
import { END_OF_TEXT, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from '../../json/json-bytes.ts';
import { JsonError, unexpectedByteError } from '../../json/json-error.ts';
import type { JsonDocument } from '../../json/json-node.ts';
import { parseJson, skipWhitespace } from '../../json/parse-json.ts';
import { type SkipState, skipValue } from '../../json/skip-value.ts';
import { positionAfter, type TextPosition } from '../../json/utf8.ts';
import { scalarEnd } from '../../json/write-json.ts';

/** The start of something in its text: line and column from 1, which do not count a byte order mark, and the offset in bytes, which does. */
export interface TextLocation extends TextPosition {
  readonly offset: number;
}

/** The place of an offset in a part of a text that begins at `start`. */
export function locationInside(bytes: Buffer, start: TextLocation, offset: number): TextLocation {
  const { line, column } = positionAfter(bytes.subarray(0, offset), start);
  return { offset: start.offset + offset, line, column };
}

/** A text that is not valid JSON or does not have the expected structure, with the location. */
export class InvalidTextError extends Error {
  override readonly name = 'InvalidTextError';
  readonly location: TextLocation;
  /** The reason why it is not valid JSON; undefined for valid JSON of another structure. */
  readonly syntaxProblem: string | undefined;

  constructor(message: string, location: TextLocation, syntaxProblem?: string) {
    super(message);
    this.location = location;
    this.syntaxProblem = syntaxProblem;
  }
}

/** Parses a part of a text. Throws InvalidTextError with the location that `locationAt` returns. */
export function parseTextPart(bytes: Buffer, locationAt: (offset: number) => TextLocation): JsonDocument {
  try {
    return parseJson(bytes);
  } catch (error) {
    throw error instanceof JsonError ? invalidJsonError(error, locationAt(error.offset)) : error;
  }
}

export function parseTextAt(bytes: Buffer, start: TextLocation): JsonDocument {
  return parseTextPart(bytes, (offset) => locationInside(bytes, start, offset));
}

export function invalidJsonError({ message }: Pick<JsonError, 'message'>, location: TextLocation): InvalidTextError {
  return new InvalidTextError(`invalid JSON: ${message}`, location, message);
}

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
  | { readonly kind: 'text'; readonly location: TextLocation; readonly bytes: Buffer }
  /** Commas and whitespace between the elements of an array. */
  | { readonly kind: 'between'; readonly bytes: Buffer }
  | { readonly kind: 'end' };

/** What a text contains: groups (or trajectories), in an array or one after the other; or a whole body. */
export type TextForm = 'groups' | 'body';

/** The position in a text of which only a part is in memory. Offsets are relative to that part. */
export interface Cursor extends SkipState {
  bytes: Buffer;
  /** The first byte that is still needed. */
  keepFrom: number;
  /** The number of bytes of the text before `bytes`. */
  baseOffset: number;
  /** The last location that was needed; lines are counted from there. */
  located: TextLocation;
  isEnded: boolean;
  /** `bytes` are the start of this buffer. */
  buffer: Buffer;
  /** Bytes of the trajectory before the next one: of most files all have about the same. */
  lastTrajectoryBytes: number;
}

// The index of a document counts in 32-bit numbers.
const MAX_VALUE_BYTES = 2 ** 31 - 1;

export function createCursor(): Cursor {
  const buffer = Buffer.alloc(0);
  const located = { offset: 0, line: 1, column: 1 };
  const offsets = { at: 0, keepFrom: 0, baseOffset: 0, lastTrajectoryBytes: 0 };
  return { ...offsets, bytes: buffer, buffer, located, depth: 0, isInString: false, isEnded: false };
}

/** Appends a copy of a chunk, and reuses the memory before `keepFrom`. Throws InvalidTextError if a value is too long to hold. */
export function appendChunk(cursor: Cursor, chunk: Uint8Array): void {
  const { bytes, keepFrom } = cursor;
  const location = cursorLocation(cursor);
  const retained = bytes.subarray(keepFrom);
  const neededBytes = retained.length + chunk.length;
  if (neededBytes > MAX_VALUE_BYTES)
    throw new InvalidTextError(`one value has more than ${formatByteSize(MAX_VALUE_BYTES)}`, location);
  // Twice the size, so that a long value is moved only a few times.
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

/** The location of `at`. */
export function cursorLocation(cursor: Cursor): TextLocation {
  const { bytes, baseOffset, at, located } = cursor;
  if (baseOffset + at === located.offset) return located;
  const passed = bytes.subarray(located.offset - baseOffset, at);
  cursor.located = locationInside(passed, located, passed.length);
  return cursor.located;
}

/** Yields events, or undefined if it needs the next chunk; returns a byte or END_OF_TEXT. */
export type EventGenerator<T = void> = Generator<TrajectoryEvent | undefined, T, void>;

/** How whitespace and commas are treated: emitted between elements, dropped, or kept with the pending text. */
type SeparatorMode = 'between' | 'dropped' | 'held';

export function* nextToken(cursor: Cursor, separators: SeparatorMode): EventGenerator<number> {
  for (;;) {
    cursor.at = skipWhitespace(cursor.bytes, cursor.at);
    const byte = cursor.bytes[cursor.at];
    if (byte !== undefined) return byte;
    yield* emitConsumed(cursor, separators);
    if (cursor.isEnded) return END_OF_TEXT;
    yield undefined;
  }
}

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

export function* advancePastValue(cursor: Cursor): EventGenerator {
  const location = cursorLocation(cursor);
  const start = (): number => location.offset - cursor.baseOffset;
  // Strings, objects and arrays have a closing byte.
  const isDelimited = [QUOTE, OPEN_OBJECT, OPEN_ARRAY].includes(cursor.bytes[cursor.at] ?? 0);
  cursor.depth = 0;
  cursor.isInString = false;
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
}

export function* throwUnexpected(cursor: Cursor, expected: string): EventGenerator<never> {
  // A character may have four bytes.
  while (!cursor.isEnded && cursor.bytes.length - cursor.at < 4) yield undefined;
  const rest = cursor.bytes.subarray(cursor.at, cursor.at + 4);
  throw invalidJsonError(unexpectedByteError(rest, 0, expected), cursorLocation(cursor));
}

// Numbers and literals end before a separator; parseJson validates them.
function advancePastScalar(cursor: Cursor): boolean {
  cursor.at = scalarEnd(cursor.bytes, cursor.at);
  return cursor.at < cursor.bytes.length;
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
