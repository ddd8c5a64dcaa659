import type { Buffer } from 'node:buffer';
import { JsonError } from '../../json/json-error.ts';
import type { JsonDocument } from '../../json/json-node.ts';
import { parseJson } from '../../json/parse-json.ts';
import { locationInside, type TextLocation } from './text-location.ts';

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

/** Parses a part of a text that starts at `start`. */
export function parseTextAt(bytes: Buffer, start: TextLocation): JsonDocument {
  return parseTextPart(bytes, (offset) => locationInside(bytes, start, offset));
}

/** A JSON error at a location. */
export function invalidJsonError({ message }: Pick<JsonError, 'message'>, location: TextLocation): InvalidTextError {
  return new InvalidTextError(`invalid JSON: ${message}`, location, message);
}
