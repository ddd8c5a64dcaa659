import type { Buffer } from 'node:buffer';
import { type JsonDocument, parseJson } from '../json/document.ts';
import { JsonError } from '../json/json-error.ts';
import { unreadable } from './cursor.ts';
import type { Place } from './passing.ts';

/** The document of a trajectory that passed. Throws UnreadableText with the place in the whole text where it is none. */
export function parsePassed(bytes: Buffer, place: Place): JsonDocument {
  try {
    return parseJson(bytes);
  } catch (error) {
    throw error instanceof JsonError ? unreadable(error, bytes, place) : error;
  }
}
