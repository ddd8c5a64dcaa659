import type { Buffer } from 'node:buffer';
import { type JsonDocument, parseJson } from '../json/document.ts';
import { JsonError } from '../json/json-error.ts';
import type { Room } from '../json/tape.ts';
import { type Place, placeInside } from './place.ts';

/** What was found wrong with a text, where: not JSON, or not of the form it should have. */
export class UnreadableText extends Error {
  override readonly name = 'UnreadableText';
  readonly place: Place;

  constructor(message: string, place: Place) {
    super(message);
    this.place = place;
  }

  /** `body.json:12:7`, the place in a text of that name; of bytes that are no text, which byte it is. */
  at(label: string): string {
    const { offset, line, column } = this.place;
    return this.message.endsWith('invalid UTF-8') ? `${label}: byte ${offset}` : `${label}:${line}:${column}`;
  }
}

/** The document that a part of a text is. Throws UnreadableText where it is none; `placeAt` tells the places of its offsets. */
export function documentIn(bytes: Buffer, placeAt: (offset: number) => Place, room?: Room): JsonDocument {
  try {
    return parseJson(bytes, undefined, room);
  } catch (error) {
    throw error instanceof JsonError ? unreadable(error, placeAt(error.offset)) : error;
  }
}

/** The document of a part of a text that begins at a place; in a room, until the next is put there. */
export function documentAt(bytes: Buffer, start: Place, room?: Room): JsonDocument {
  return documentIn(bytes, (offset) => placeInside(bytes, start, offset), room);
}

/** An error of JSON at its place. */
export function unreadable({ message }: JsonError, place: Place): UnreadableText {
  return new UnreadableText(`not JSON: ${message}`, place);
}
