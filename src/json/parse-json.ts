import { Buffer } from 'node:buffer';
import * as ascii from './json-bytes.ts';
import { JsonError, trailingCommaError, unexpectedByteError, unexpectedEndError } from './json-error.ts';
import { type JsonDocument, type JsonNode, keySignature, rootOf, UNKNOWN_SIGNATURE } from './json-node.ts';
import { decodeUtf8 } from './utf8.ts';

// After a read beyond the end, V8 makes all later reads of a loop slower. Loops over whitespace and digits often reach the
// end of the text, so they compare with the length; a string ends with a quote.

const CUT_STRING = 'a closing quote is missing, or the text was cut off';

function isPlainByte(byte: number): boolean {
  return byte >= ascii.SPACE && byte !== ascii.QUOTE && byte !== ascii.BACKSLASH;
}

/** The offset after the string that starts at `from` with a double quote. Throws JsonError if it is malformed. */
export function scanString(bytes: Buffer, from: number): number {
  for (let at = from + 1; ; ) {
    while (isPlainByte(bytes[at] ?? 0)) at += 1;
    if (at >= bytes.length) throw new JsonError('the text ends inside a string', at, CUT_STRING);
    const byte = bytes[at];
    if (byte === ascii.QUOTE) return at + 1;
    if (byte !== ascii.BACKSLASH) {
      const isLineBreak = byte === ascii.LINE_FEED || byte === ascii.CARRIAGE_RETURN;
      const hint = isLineBreak
        ? 'it is a line break: write \\n, or complete the line if it was cut off'
        : 'write it as \\u00XX';
      throw new JsonError('a control character inside a string', at, hint);
    }
    at += scanEscape(bytes, at);
  }
}

function scanNumber(bytes: Buffer, from: number): number {
  const { length } = bytes;
  const first = bytes[from] === ascii.MINUS ? from + 1 : from;
  let at = scanDigits(bytes, first, from);
  if (at > first + 1 && bytes[first] === 0x30) throw new JsonError('a number with a leading zero', first);
  if (at < length && bytes[at] === 0x2e) at = scanDigits(bytes, at + 1, from);
  if (at < length && (bytes[at] === 0x65 || bytes[at] === 0x45)) {
    const hasSign = at + 1 < length && (bytes[at + 1] === 0x2b || bytes[at + 1] === 0x2d);
    at = scanDigits(bytes, hasSign ? at + 2 : at + 1, from);
  }
  return at;
}

const literals = ['true', 'false', 'null'].map((word) => Buffer.from(word));

function scanLiteral(bytes: Buffer, from: number): number {
  for (const literal of literals) {
    let at = 0;
    while (at < literal.length && bytes[from + at] === literal[at]) at += 1;
    if (at === literal.length && !isLetter(bytes[from + at])) return from + at;
  }
  let end = from;
  while (isLetter(bytes[end])) end += 1;
  const word = bytes.toString('latin1', from, end);
  if (word === 'NaN' || word === 'Infinity') throw nonFiniteError(word, from);
  if (['True', 'False', 'None'].includes(word))
    throw new JsonError(`${word} is Python; write ${word === 'None' ? 'null' : word.toLowerCase()}`, from);
  if (end === bytes.length && word !== '' && literals.some((literal) => literal.toString().startsWith(word))) {
    throw unexpectedEndError(end, 'a value');
  }
  throw unexpectedByteError(bytes, from, 'a value');
}

const escapeBytes = new Uint8Array(256);
for (const kind of '"\\/bfnrt') escapeBytes[kind.charCodeAt(0)] = 1;

const hexBytes = new Uint8Array(256);
for (const digit of '0123456789abcdefABCDEF') hexBytes[digit.charCodeAt(0)] = 1;

function scanEscape(bytes: Buffer, from: number): number {
  const { length } = bytes;
  const kind = from + 1 < length ? (bytes[from + 1] ?? 0) : 0x75;
  if (escapeBytes[kind] === 1) return 2;
  if (kind !== 0x75) throw new JsonError('invalid escape sequence', from, 'write \\\\ for a backslash');
  for (let at = from + 2; at < from + 6; at += 1) {
    if (at >= length) throw new JsonError('the text ends inside a string', length, CUT_STRING);
    if (hexBytes[bytes[at] ?? 0] !== 1) throw new JsonError('\\u needs four hexadecimal digits', from);
  }
  return 6;
}

function scanDigits(bytes: Buffer, from: number, start: number): number {
  const { length } = bytes;
  let at = from;
  while (at < length && isDigit(bytes[at] ?? 0)) at += 1;
  if (at > from) return at;
  if (at >= length) throw new JsonError('the text ends inside a number', at);
  const isInfinity = bytes.toString('latin1', at, at + 8) === 'Infinity';
  if (isInfinity) throw nonFiniteError('-Infinity', start);
  throw new JsonError('a malformed number', at, undefined, unexpectedByteError(bytes, at, 'a digit').unexpected);
}

function nonFiniteError(word: string, at: number): JsonError {
  return new JsonError(`${word} is not a JSON number`, at, 'use a number or null');
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

function isLetter(byte: number | undefined): boolean {
  return byte !== undefined && ((byte >= 0x61 && byte <= 0x7a) || (byte >= 0x41 && byte <= 0x5a));
}

const MAX_TAPE_VALUES = Math.floor((2 ** 31 - 1) / 3);

/** Indexes the value at `from`, whatever follows it. Throws JsonError if it is malformed or has too many values. */
export function indexValue(bytes: Buffer, from: number, maxValues: number): { tape: Int32Array; end: number } {
  // One loop, as a call stack would limit the depth. Local variables take two thirds of the time of fields.
  const tape = allocateTape(3 * maxValues);
  let used = 0;
  let count = 0;
  // The tape index of the innermost open container, or a number beyond any tape. Until a container is closed, its third
  // number is the tape index of its parent, inverted if the parent is an object, so that depth needs no other stack.
  const noContainer = 2 ** 31 - 1;
  let innermost = noContainer;
  let isInObject = false;
  let at = from;
  for (;;) {
    if (isInObject) {
      if (bytes[at] !== ascii.QUOTE) throw unexpectedByteError(bytes, at, 'a key in double quotes');
      let end = at + 1;
      while (isPlainByte(bytes[end] ?? 0)) end += 1;
      let signature = UNKNOWN_SIGNATURE;
      if (bytes[end] === ascii.QUOTE) {
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
      if ((bytes[at] ?? 0) <= ascii.SPACE) at = skipWhitespace(bytes, at);
      if (bytes[at] !== ascii.COLON) throw unexpectedByteError(bytes, at, '":"');
      at += 1;
      if ((bytes[at] ?? 0) <= ascii.SPACE) at = skipWhitespace(bytes, at);
    }
    if (used === tape.length) throw tooManyValuesError(maxValues, at);
    tape[used] = at;
    count += 1;
    const first = bytes[at] ?? ascii.END_OF_TEXT;
    if (first === ascii.OPEN_OBJECT || first === ascii.OPEN_ARRAY) {
      tape[used + 2] = isInObject ? ~innermost : innermost;
      innermost = used;
      isInObject = first === ascii.OPEN_OBJECT;
      used += 3;
      at += 1;
      if ((bytes[at] ?? 0) <= ascii.SPACE) at = skipWhitespace(bytes, at);
      if (bytes[at] !== (isInObject ? ascii.CLOSE_OBJECT : ascii.CLOSE_ARRAY)) continue;
    } else {
      if (first === ascii.QUOTE) {
        let end = at + 1;
        while (isPlainByte(bytes[end] ?? 0)) end += 1;
        at = bytes[end] === ascii.QUOTE ? end + 1 : scanString(bytes, at);
      } else at = first === ascii.MINUS || isDigit(first) ? scanNumber(bytes, at) : scanLiteral(bytes, at);
      tape[used + 1] = at;
      tape[used + 2] = count;
      used += 3;
    }
    // A value has ended, or an empty container is open: close what ends here, up to the comma before the next value.
    for (;;) {
      if (innermost === noContainer) return { tape: tape.subarray(0, used), end: at };
      if ((bytes[at] ?? 0) <= ascii.SPACE) at = skipWhitespace(bytes, at);
      const byte = bytes[at] ?? ascii.END_OF_TEXT;
      if (byte === ascii.COMMA) break;
      if (byte !== (isInObject ? ascii.CLOSE_OBJECT : ascii.CLOSE_ARRAY))
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
    if ((bytes[at] ?? 0) <= ascii.SPACE) at = skipWhitespace(bytes, at);
    if (bytes[at] === ascii.CLOSE_OBJECT || bytes[at] === ascii.CLOSE_ARRAY) throw trailingCommaError(comma);
  }
}

// A small array of its own would take 2 us, 25 times as long as a part of a larger one.
const POOL_LENGTH = 16 * 1024;
const MAX_POOLED_LENGTH = 1024;
let pool = new Int32Array(0);
let poolUsed = 0;

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

const whitespaceBytes = new Uint8Array(256);
for (const space of ' \n\r\t') whitespaceBytes[space.charCodeAt(0)] = 1;

export function skipWhitespace(bytes: Buffer, from: number): number {
  const { length } = bytes;
  let at = from;
  while (at < length && whitespaceBytes[bytes[at] ?? 0] === 1) at += 1;
  return at;
}

interface SkipState {
  /** The offset of the next byte to scan. In a string it is never that of an escaped byte, so it can exceed the length. */
  at: number;
  depth: number;
  isInString: boolean;
}

const structuralBytes = new Uint8Array(256);
for (const byte of '"{}[]') structuralBytes[byte.charCodeAt(0)] = 1;

/** Skips an object, an array or a string, valid or not; returns true at its end, and false at the end of the bytes. */
export function skipValue(bytes: Buffer, state: SkipState): boolean {
  const end = bytes.length;
  let { at, depth, isInString } = state;
  let isComplete = false;
  while (at < end && !isComplete) {
    if (isInString) {
      at = closingQuoteOffset(bytes, at);
      if (at >= end) break;
      at += 1;
      isInString = false;
      isComplete = depth === 0;
      continue;
    }
    let byte = 0;
    while (structuralBytes[byte] === 0 && at < end) byte = bytes[at++] ?? 0;
    if (byte === ascii.QUOTE) isInString = true;
    else if (byte === ascii.OPEN_OBJECT || byte === ascii.OPEN_ARRAY) depth += 1;
    else if (byte === ascii.CLOSE_OBJECT || byte === ascii.CLOSE_ARRAY) {
      depth -= 1;
      isComplete = depth === 0;
    }
  }
  Object.assign(state, { at, depth, isInString });
  return isComplete;
}

// Up to this length, a loop is faster than indexOf.
const SHORT_STRING_BYTES = 48;

// Without a closing quote in these bytes, the offset at which to continue.
function closingQuoteOffset(bytes: Buffer, from: number): number {
  let at = from;
  for (;;) {
    const loopEnd = Math.min(bytes.length, at + SHORT_STRING_BYTES);
    while (at < loopEnd) {
      const byte = bytes[at];
      if (byte === ascii.QUOTE) return at;
      at += byte === ascii.BACKSLASH ? 2 : 1;
    }
    if (at >= bytes.length) return at;
    const quote = bytes.indexOf(ascii.QUOTE, at);
    const stop = quote === -1 ? bytes.length : quote;
    let backslashes = stop;
    while (backslashes > at && bytes[backslashes - 1] === ascii.BACKSLASH) backslashes -= 1;
    const isEscaped = (stop - backslashes) % 2 === 1;
    if (!isEscaped) return stop;
    at = stop + 1;
  }
}

/** Indexes a JSON text (RFC 8259) of any depth as it is, without a byte order mark. Throws JsonError, also for more than `maxValues` values and keys. */
export function parseJson(input: Uint8Array | string, maxValues = MAX_TAPE_VALUES): JsonDocument {
  const bytes = typeof input === 'string' ? Buffer.from(input) : decodeUtf8(input, true);
  const start = skipWhitespace(bytes, 0);
  if (start === bytes.length) throw new JsonError('the text is empty', 0);
  const { tape, end } = indexValue(bytes, start, Math.min(maxValues, countSeparators(bytes) + 1));
  const rest = skipWhitespace(bytes, end);
  if (rest < bytes.length) throw unexpectedByteError(bytes, rest, 'the end of the input');
  return { bytes, tape };
}

/** The values of a text that has any number of them, one after another. Throws JsonError at the first that is malformed. */
export function* parseJsonSequence(input: Uint8Array): Generator<JsonNode> {
  const bytes = decodeUtf8(input, true);
  const maxValues = Math.min(MAX_TAPE_VALUES, countSeparators(bytes) + 1);
  for (let at = skipWhitespace(bytes, 0); at < bytes.length; ) {
    const { tape, end } = indexValue(bytes, at, maxValues);
    yield rootOf({ bytes, tape });
    at = skipWhitespace(bytes, end);
  }
}

export function tryParseJson(text: Uint8Array | string): JsonNode | undefined {
  try {
    return rootOf(parseJson(text));
  } catch (error) {
    if (error instanceof JsonError) return undefined;
    throw error;
  }
}

// All values and keys but the first follow a separator. Those in strings only make the index larger, in unused pages.
const separatorBytes = new Uint8Array(256);
for (const byte of ',:[{') separatorBytes[byte.charCodeAt(0)] = 1;

function countSeparators(bytes: Buffer): number {
  let count = 0;
  for (let at = 0; at < bytes.length; at += 1) count += separatorBytes[bytes[at] ?? 0] ?? 0;
  return count;
}

/** The JSON value that cut bytes are the start of, without a member or item that is incomplete; of a string, its start. */
export function parseCutJson(bytes: Uint8Array): JsonNode | undefined {
  const text = new TextDecoder().decode(bytes);
  let closers = '';
  let isInString = false;
  let complete = { end: 0, closers };
  for (const { 0: token, index } of text.matchAll(/\\.|["{}[\],]/gs)) {
    if (token === '"') isInString = !isInString;
    if (isInString || token.startsWith('\\')) continue;
    if (token === '{' || token === '[') closers = (token === '{' ? '}' : ']') + closers;
    if (token === '}' || token === ']') closers = closers.slice(1);
    if (token !== '"') complete = { end: token === ',' ? index : index + 1, closers };
  }
  const withString = isInString && tryParseJson(`${text.replace(INCOMPLETE_ESCAPE, '')}"${closers}`);
  return withString || tryParseJson(text.slice(0, complete.end) + complete.closers);
}

const INCOMPLETE_ESCAPE = /(?<=(?<!\\)(?:\\\\)*)\\(?:u[\da-f]{0,3})?$/i;
