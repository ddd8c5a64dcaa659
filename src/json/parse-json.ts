import { Buffer, isUtf8 } from 'node:buffer';
import { JsonError, trailingCommaError, unexpectedByteError } from './json-error.ts';
import { type JsonNode, rootOf } from './json-node.ts';
import { scanLiteral, scanNumber, scanString } from './scan-token.ts';
import { Tape, type TapeBuffer } from './tape.ts';
import { decodeUtf8 } from './utf8.ts';

/**
 * JSON text and its index. `tape` holds three numbers for each value and key in reading order: the offset of
 * its first byte, the offset after its last, and the entry that follows it and all it contains.
 */
export interface JsonDocument {
  readonly bytes: Buffer;
  readonly tape: Int32Array;
}

// What the index can hold: offsets are 32-bit integers, and an array has as many elements.
const MAX_TAPE_ENTRIES = Math.floor((2 ** 31 - 1) / 3);

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * Indexes one JSON value of any depth without changing a byte of it; a byte order mark is dropped.
 * Throws JsonError for invalid UTF-8, for anything RFC 8259 does not allow, and for more than `most` values and keys.
 * With a room the document lasts until the room is given to the next one.
 */
export function parseJson(input: Uint8Array | string, maxValues = MAX_TAPE_ENTRIES, buffer?: TapeBuffer): JsonDocument {
  const bytes = typeof input === 'string' ? Buffer.from(input) : decodeUtf8(input);
  if (skipWhitespace(bytes, 0) === bytes.length) throw new JsonError('the text is empty', 0);
  // An index that exists is large enough, or grows.
  const tape = new Tape(buffer?.entries ? 0 : estimateValueCount(bytes), maxValues, buffer);
  const end = skipWhitespace(bytes, readValue(bytes, skipWhitespace(bytes, 0), tape));
  if (end < bytes.length) throw unexpectedByteError(bytes, end, 'after the end of the value');
  return { bytes, tape: tape.finish() };
}

/** The outermost value of some bytes, as parseJson reads them; undefined where they are not JSON. */
export function tryParseJson(bytes: Uint8Array): JsonNode | undefined {
  try {
    return rootOf(parseJson(bytes));
  } catch (error) {
    if (error instanceof JsonError) return undefined;
    throw error;
  }
}

/**
 * Indexes the value at the start of some bytes, whatever follows it. Undefined where no complete and valid value is there.
 * The document lasts until the buffer is given to the next one.
 */
export function parseJsonPrefix(bytes: Buffer, buffer: TapeBuffer): JsonDocument | undefined {
  try {
    const tape = new Tape(0, MAX_TAPE_ENTRIES, buffer);
    const value = bytes.subarray(0, readValue(bytes, 0, tape));
    return isUtf8(value) ? { bytes: value, tape: tape.finish() } : undefined;
  } catch (error) {
    if (error instanceof JsonError) return undefined;
    throw error;
  }
}

// One loop with a stack of its own, because a call stack would limit how deep a document may be.
function readValue(bytes: Buffer, from: number, tape: Tape): number {
  let at = from;
  for (;;) {
    const first = bytes[at];
    if (first === OPEN_OBJECT || first === OPEN_ARRAY) {
      tape.open(at, first === OPEN_OBJECT);
      at = skipWhitespace(bytes, at + 1);
      if (bytes[at] !== (first === OPEN_OBJECT ? CLOSE_OBJECT : CLOSE_ARRAY)) {
        if (first === OPEN_OBJECT) at = readKey(bytes, at, tape);
        continue;
      }
      at += 1;
      tape.close(at);
    } else {
      const end = scanScalar(bytes, at);
      tape.add(at, end);
      at = end;
    }
    // A value has ended: close what ends with it, up to the comma before the next one.
    for (;;) {
      if (!tape.isOpen) return at;
      at = skipWhitespace(bytes, at);
      if (bytes[at] === COMMA) break;
      if (bytes[at] !== (tape.inObject ? CLOSE_OBJECT : CLOSE_ARRAY)) {
        throw unexpectedByteError(bytes, at, tape.inObject ? 'where , or } should be' : 'where , or ] should be');
      }
      at += 1;
      tape.close(at);
    }
    const comma = at;
    at = skipWhitespace(bytes, at + 1);
    if (bytes[at] === CLOSE_OBJECT || bytes[at] === CLOSE_ARRAY) {
      throw trailingCommaError(comma);
    }
    if (tape.inObject) at = readKey(bytes, at, tape);
  }
}

function readKey(bytes: Buffer, at: number, tape: Tape): number {
  if (bytes[at] !== QUOTE) throw unexpectedByteError(bytes, at, 'where a key in double quotes should be');
  const end = scanString(bytes, at);
  tape.add(at, end);
  const colon = skipWhitespace(bytes, end);
  if (bytes[colon] !== COLON) throw unexpectedByteError(bytes, colon, 'where : should be');
  return skipWhitespace(bytes, colon + 1);
}

function scanScalar(bytes: Buffer, at: number): number {
  const first = bytes[at];
  if (first === QUOTE) return scanString(bytes, at);
  if (first === 0x2d || (first !== undefined && first >= 0x30 && first <= 0x39)) return scanNumber(bytes, at);
  const end = scanLiteral(bytes, at);
  if (end === at) throw unexpectedByteError(bytes, at, 'where a value should be');
  return end;
}

// What separates values tells how many there can be, so that the index is made once. What stands in texts only makes it
// larger than it need be, and memory that nobody writes to is not taken.
const separatorBytes = new Uint8Array(256);
for (const byte of [COMMA, COLON, OPEN_ARRAY, OPEN_OBJECT, 0x0a]) separatorBytes[byte] = 1;

function estimateValueCount(bytes: Buffer): number {
  let count = 2;
  for (let at = 0; at < bytes.length; at += 1) count += separatorBytes[bytes[at] ?? 0] ?? 0;
  return count;
}

function skipWhitespace(bytes: Buffer, from: number): number {
  let at = from;
  for (;;) {
    const byte = bytes[at];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return at;
    at += 1;
  }
}
