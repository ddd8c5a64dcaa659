import type { Buffer } from 'node:buffer';
import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  END_OF_TEXT,
  MINUS,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  SPACE,
} from './json-bytes.ts';
import { JsonError, trailingCommaError, unexpectedByteError } from './json-error.ts';
import { keySignature, UNKNOWN_SIGNATURE } from './key-signature.ts';
import { isPlainByte, scanLiteral, scanNumber, scanString } from './scan-token.ts';

/** The index of a value (see JsonDocument), and the offset after the value. */
export interface IndexedValue {
  readonly tape: Int32Array;
  readonly end: number;
}

/** The limit of the index: offsets are 32-bit integers, and an array has no more elements. */
export const MAX_TAPE_VALUES = Math.floor((2 ** 31 - 1) / 3);

/**
 * Indexes the value at `from`, whatever follows it. Throws JsonError if the value is malformed, and if it has more than
 * `maxValues` values and keys, for which memory is allocated.
 */
export function indexValue(bytes: Buffer, from: number, maxValues: number): IndexedValue {
  // One loop with a stack of its own, because a call stack would limit how deep a document may be. Its state is in local
  // variables, which takes two thirds of the time of fields.
  const tape = allocateTape(3 * maxValues);
  let used = 0;
  let count = 0;
  // The tape index of the innermost open container, or a number beyond any tape. Until a container is closed, its third
  // number is the tape index of its parent, inverted if the parent is an object. So a document that is a million levels
  // deep needs no stack in addition to the tape.
  const noContainer = 2 ** 31 - 1;
  let innermost = noContainer;
  let isInObject = false;
  let at = from;
  for (;;) {
    if (isInObject) {
      if (bytes[at] !== QUOTE) throw unexpectedByteError(bytes, at, 'a key in double quotes');
      let end = at + 1;
      while (isPlainByte(bytes[end] ?? 0)) end += 1;
      let signature = UNKNOWN_SIGNATURE;
      if (bytes[end] === QUOTE) {
        signature = keySignature(bytes, at + 1, end);
        end += 1;
      } else end = scanString(bytes, at);
      if (used === tape.length) throw tooManyValuesError(maxValues, at);
      tape[used] = at;
      tape[used + 1] = end;
      tape[used + 2] = signature;
      count += 1;
      used += 3;
      at = end;
      if ((bytes[at] ?? 0) <= SPACE) at = skipWhitespace(bytes, at);
      if (bytes[at] !== COLON) throw unexpectedByteError(bytes, at, '":"');
      at += 1;
      if ((bytes[at] ?? 0) <= SPACE) at = skipWhitespace(bytes, at);
    }
    if (used === tape.length) throw tooManyValuesError(maxValues, at);
    tape[used] = at;
    count += 1;
    const first = bytes[at] ?? END_OF_TEXT;
    if (first === OPEN_OBJECT || first === OPEN_ARRAY) {
      tape[used + 2] = isInObject ? ~innermost : innermost;
      innermost = used;
      isInObject = first === OPEN_OBJECT;
      used += 3;
      at += 1;
      if ((bytes[at] ?? 0) <= SPACE) at = skipWhitespace(bytes, at);
      if (bytes[at] !== (isInObject ? CLOSE_OBJECT : CLOSE_ARRAY)) continue;
    } else {
      if (first === QUOTE) {
        let end = at + 1;
        while (isPlainByte(bytes[end] ?? 0)) end += 1;
        at = bytes[end] === QUOTE ? end + 1 : scanString(bytes, at);
      } else at = scanScalar(bytes, at, first);
      tape[used + 1] = at;
      tape[used + 2] = count;
      used += 3;
    }
    // A value has ended, or an empty container is open: close what ends here, up to the comma before the next value.
    for (;;) {
      if (innermost === noContainer) return { tape: tape.subarray(0, used), end: at };
      if ((bytes[at] ?? 0) <= SPACE) at = skipWhitespace(bytes, at);
      const byte = bytes[at] ?? END_OF_TEXT;
      if (byte === COMMA) break;
      if (byte !== (isInObject ? CLOSE_OBJECT : CLOSE_ARRAY))
        throw unexpectedByteError(bytes, at, isInObject ? '"," or "}"' : '"," or "]"');
      at += 1;
      const around = tape[innermost + 2] ?? 0;
      tape[innermost + 1] = at;
      tape[innermost + 2] = count;
      isInObject = around < 0;
      innermost = isInObject ? ~around : around;
    }
    const comma = at;
    at += 1;
    if ((bytes[at] ?? 0) <= SPACE) at = skipWhitespace(bytes, at);
    if (bytes[at] === CLOSE_OBJECT || bytes[at] === CLOSE_ARRAY) throw trailingCommaError(comma);
  }
}

// A small array of its own would take 2 us, 25 times as long as a part of a larger one.
const POOL_LENGTH = 16 * 1024;
const MAX_POOLED_LENGTH = 1024;
let pool = new Int32Array(0);
let poolUsed = 0;

// All zero.
function allocateTape(length: number): Int32Array {
  if (length > MAX_POOLED_LENGTH) return new Int32Array(length);
  if (poolUsed + length > pool.length) {
    pool = new Int32Array(POOL_LENGTH);
    poolUsed = 0;
  }
  poolUsed += length;
  return pool.subarray(poolUsed - length, poolUsed);
}

function tooManyValuesError(maxValues: number, at: number): JsonError {
  return new JsonError(`it has more than ${maxValues} values`, at);
}

function scanScalar(bytes: Buffer, at: number, first: number): number {
  if (first === MINUS || (first >= 0x30 && first <= 0x39)) return scanNumber(bytes, at);
  const end = scanLiteral(bytes, at);
  if (end === at) throw unexpectedByteError(bytes, at, 'a value');
  return end;
}

const whitespaceBytes = new Uint8Array(256);
for (const space of ' \n\r\t') whitespaceBytes[space.charCodeAt(0)] = 1;

/** The offset of the first byte from `from` on that is not whitespace of JSON. */
export function skipWhitespace(bytes: Buffer, from: number): number {
  const { length } = bytes;
  let at = from;
  while (at < length && whitespaceBytes[bytes[at] ?? 0] === 1) at += 1;
  return at;
}
