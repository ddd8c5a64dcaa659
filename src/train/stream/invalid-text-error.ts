import type { Buffer } from 'node:buffer';
import { JsonError } from '../../json/json-error.ts';
import { type JsonDocument, parseJson } from '../../json/parse-json.ts';
import type { TapeBuffer } from '../../json/tape.ts';
import { locationInside, type TextLocation } from './text-location.ts';

/** What was found wrong with a text, where: not JSON, or not of the form it should have. */
export class InvalidTextError extends Error {
  override readonly name = 'InvalidTextError';
  readonly location: TextLocation;

  constructor(message: string, location: TextLocation) {
    super(message);
    this.location = location;
  }

  /** `body.json:12:7`, the place in a text of that name; of bytes that are no text, which byte it is. */
  locationIn(label: string): string {
    const { offset, line, column } = this.location;
    return this.message.endsWith('invalid UTF-8') ? `${label}: byte ${offset}` : `${label}:${line}:${column}`;
  }
}

/** The document that a part of a text is. Throws UnreadableText where it is none; `placeAt` tells the places of its offsets. */
export function parseTextPart(
  bytes: Buffer,
  locationAt: (offset: number) => TextLocation,
  tapeBuffer?: TapeBuffer,
): JsonDocument {
  try {
    return parseJson(bytes, undefined, tapeBuffer);
  } catch (error) {
    throw error instanceof JsonError ? invalidJsonError(error, locationAt(error.offset)) : error;
  }
}

/** The document of a part of a text that begins at a place; in a room, until the next is put there. */
export function parseTextAt(bytes: Buffer, start: TextLocation, tapeBuffer?: TapeBuffer): JsonDocument {
  return parseTextPart(bytes, (offset) => locationInside(bytes, start, offset), tapeBuffer);
}

/** An error of JSON at its place. */
export function invalidJsonError({ message }: JsonError, location: TextLocation): InvalidTextError {
  return new InvalidTextError(`not JSON: ${message}`, location);
}
