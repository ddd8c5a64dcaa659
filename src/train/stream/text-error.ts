import type { Buffer } from 'node:buffer';
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
