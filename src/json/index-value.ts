import type { Buffer } from 'node:buffer';
import { JsonError, trailingCommaError, unexpectedByteError } from './json-error.ts';
import { scanLiteral, scanNumber, scanString } from './scan-token.ts';

/** Memory for the index of one document after the other: the next one that is given it ends the one before. */
export interface TapeBuffer {
  entries: Int32Array | undefined;
}

/** The index of a value (see JsonDocument), and the offset after the value. */
export interface IndexedValue {
  readonly tape: Int32Array;
  readonly end: number;
}

/** What the index can hold: offsets are 32-bit integers, and an array has as many elements. */
export const MAX_TAPE_VALUES = Math.floor((2 ** 31 - 1) / 3);

const MIN_TAPE_VALUES = 16;

// Compact JSON has no whitespace: the loop calls skipWhitespace only where there is some.
const whitespaceBytes = new Uint8Array(256);
for (const space of ' \n\r\t') whitespaceBytes[space.charCodeAt(0)] = 1;

const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

// The innermost container of a value that is in none.
const NO_CONTAINER = -3;

/**
 * Indexes the value at `from`, whatever follows it, with room for `expectedValues` values and keys before it has to grow.
 * Throws JsonError where the value is malformed, and beyond `maxValues`. With a buffer the index lasts until the buffer is
 * used again.
 */
export function indexValue(
  bytes: Buffer,
  from: number,
  expectedValues: number,
  maxValues: number,
  buffer: TapeBuffer = { entries: undefined },
): IndexedValue {
  // One loop with a stack of its own, because a call stack would limit how deep a document may be. Its state is in local
  // variables, which takes two thirds of the time of fields.
  buffer.entries ??= new Int32Array(3 * Math.min(maxValues, Math.max(MIN_TAPE_VALUES, expectedValues)));
  let tape = buffer.entries;
  let used = 0;
  let count = 0;
  // Where the innermost open container is in the tape. Its third number, which says in the end what follows the container,
  // says until then what is around it: so a document that is a million levels deep needs no stack beside the tape.
  let innermost = NO_CONTAINER;
  let inObject = false;
  let at = from;
  for (;;) {
    if (inObject) {
      if (bytes[at] !== QUOTE) throw unexpectedByteError(bytes, at, 'where a key in double quotes should be');
      const end = scanString(bytes, at);
      if (used === tape.length) tape = growTape(tape, maxValues, at, buffer);
      tape[used] = at;
      tape[used + 1] = end;
      count += 1;
      tape[used + 2] = count;
      used += 3;
      at = end;
      if (whitespaceBytes[bytes[at] ?? 0] === 1) at = skipWhitespace(bytes, at);
      if (bytes[at] !== COLON) throw unexpectedByteError(bytes, at, 'where : should be');
      at += 1;
      if (whitespaceBytes[bytes[at] ?? 0] === 1) at = skipWhitespace(bytes, at);
    }
    if (used === tape.length) tape = growTape(tape, maxValues, at, buffer);
    tape[used] = at;
    count += 1;
    const first = bytes[at];
    if (first === OPEN_OBJECT || first === OPEN_ARRAY) {
      tape[used + 2] = innermost + 3 + (inObject ? 1 : 0);
      innermost = used;
      inObject = first === OPEN_OBJECT;
      used += 3;
      at += 1;
      if (whitespaceBytes[bytes[at] ?? 0] === 1) at = skipWhitespace(bytes, at);
      if (bytes[at] !== (inObject ? CLOSE_OBJECT : CLOSE_ARRAY)) continue;
    } else {
      at = first === QUOTE ? scanString(bytes, at) : scanScalar(bytes, at);
      tape[used + 1] = at;
      tape[used + 2] = count;
      used += 3;
    }
    // A value has ended, or an empty container is open: close what ends here, up to the comma before the next value.
    for (;;) {
      if (innermost === NO_CONTAINER) return { tape: tape.subarray(0, used), end: at };
      if (whitespaceBytes[bytes[at] ?? 0] === 1) at = skipWhitespace(bytes, at);
      const byte = bytes[at];
      if (byte === COMMA) break;
      if (byte !== (inObject ? CLOSE_OBJECT : CLOSE_ARRAY))
        throw unexpectedByteError(bytes, at, inObject ? 'where , or } should be' : 'where , or ] should be');
      at += 1;
      const around = tape[innermost + 2] ?? 0;
      tape[innermost + 1] = at;
      tape[innermost + 2] = count;
      inObject = around % 3 === 1;
      innermost = around - 3 - (inObject ? 1 : 0);
    }
    const comma = at;
    at += 1;
    if (whitespaceBytes[bytes[at] ?? 0] === 1) at = skipWhitespace(bytes, at);
    if (bytes[at] === CLOSE_OBJECT || bytes[at] === CLOSE_ARRAY) throw trailingCommaError(comma);
  }
}

function growTape(tape: Int32Array, maxValues: number, at: number, buffer: TapeBuffer): Int32Array {
  const values = tape.length / 3;
  if (values >= maxValues) throw new JsonError(`it has more than ${maxValues} values`, at);
  const larger = new Int32Array(3 * Math.min(maxValues, 2 * values));
  larger.set(tape);
  buffer.entries = larger;
  return larger;
}

function scanScalar(bytes: Buffer, at: number): number {
  const first = bytes[at];
  if (first === MINUS || (first !== undefined && first >= 0x30 && first <= 0x39)) return scanNumber(bytes, at);
  const end = scanLiteral(bytes, at);
  if (end === at) throw unexpectedByteError(bytes, at, 'where a value should be');
  return end;
}

/** The offset of the first byte from `from` on that is not whitespace of JSON. */
export function skipWhitespace(bytes: Buffer, from: number): number {
  let at = from;
  while (whitespaceBytes[bytes[at] ?? 0] === 1) at += 1;
  return at;
}
