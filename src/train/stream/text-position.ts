import { Buffer } from 'node:buffer';
import { formatByteSize } from '../../files/byte-size.ts';
import { concatChunks } from '../../http/body-chunks.ts';
import { JsonError, type Resemblance, resemblance } from '../../json/json-error.ts';
import type { JsonDocument } from '../../json/json-node.ts';
import { parseJson } from '../../json/parse-json.ts';
import { positionAfter, type TextPosition } from '../../json/utf8.ts';

/** Line and column do not count a byte order mark; the offset in bytes does. */
export interface TextLocation extends TextPosition {
  readonly offset: number;
}

export function locationInside(bytes: Buffer, start: TextLocation, offset: number): TextLocation {
  const { line, column } = positionAfter(bytes.subarray(0, offset), start);
  return { offset: start.offset + offset, line, column };
}

export class InvalidTextError extends Error {
  override readonly name = 'InvalidTextError';
  readonly location: TextLocation;
  /** The reason why it is not valid JSON; undefined for valid JSON of another structure. */
  readonly syntaxProblem: string | undefined;
  readonly resembles: Resemblance;

  constructor(message: string, location: TextLocation, syntaxProblem?: string, resembles?: Resemblance) {
    super(message);
    this.location = location;
    this.syntaxProblem = syntaxProblem;
    this.resembles = resembles;
  }
}

export function invalidJsonError({ message, unexpected }: JsonError, location: TextLocation): InvalidTextError {
  return new InvalidTextError(`invalid JSON: ${message}`, location, message, resemblance(unexpected, location));
}

export function withLocation<T>(read: () => T, locationAt: (offset: number) => TextLocation): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof JsonError ? invalidJsonError(error, locationAt(error.offset)) : error;
  }
}

export function parseTextAt(bytes: Buffer, start: TextLocation): JsonDocument {
  return withLocation(
    () => parseJson(bytes),
    (offset) => locationInside(bytes, start, offset),
  );
}

export interface TextPart {
  readonly bytes: Buffer;
  readonly location: TextLocation;
}

/** A group or a body with its arrays empty: all of it but the trajectories. `parse` throws InvalidTextError. */
export function createEnvelope(parts: readonly TextPart[]) {
  const bytes = concatChunks(parts.map((part) => part.bytes));
  const locationAt = (offset: number): TextLocation => {
    let rest = offset;
    for (const [index, part] of parts.entries()) {
      if (rest < part.bytes.length || index === parts.length - 1)
        return locationInside(part.bytes, part.location, rest);
      rest -= part.bytes.length;
    }
    return { offset, line: 1, column: 1 };
  };
  return { bytes, locationAt, parse: () => withLocation(() => parseJson(bytes), locationAt) };
}

/** The position in a text of which only a part is in memory. Offsets are relative to that part. */
export type Cursor = ReturnType<typeof createCursor>;

/** A cursor at the start of a text, without any bytes yet. */
export function createCursor() {
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

/** Appends a copy of a chunk, and reuses the memory before `keepFrom`; throws InvalidTextError above 2 GiB. */
export function appendChunk(cursor: Cursor, chunk: Uint8Array): void {
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

/** Moves `located` to a position that is not before it, and returns it. */
export function cursorLocation(cursor: Cursor, at = cursor.at): TextLocation {
  const { bytes, baseOffset, located } = cursor;
  if (baseOffset + at === located.offset) return located;
  const passed = bytes.subarray(located.offset - baseOffset, at);
  cursor.located = locationInside(passed, located, passed.length);
  return cursor.located;
}

/** The bytes from a location that are still kept, up to the cursor. */
export function bytesSince({ bytes, baseOffset, at }: Cursor, { offset }: TextLocation): Buffer {
  return bytes.subarray(offset - baseOffset, at);
}
