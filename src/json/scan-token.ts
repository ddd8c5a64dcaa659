import { Buffer } from 'node:buffer';
import { BACKSLASH, MINUS, QUOTE, SPACE } from './json-bytes.ts';
import { JsonError, UNEXPECTED_END } from './json-error.ts';

// After a read beyond the end, V8 makes all later reads of a loop slower. Loops over whitespace and digits often reach the
// end of the text, so they compare with the length; a string ends with a quote.

/** True for a byte that needs no escape in a string: not a quote, backslash or control character. */
export function isPlainByte(byte: number): boolean {
  return byte >= SPACE && byte !== QUOTE && byte !== BACKSLASH;
}

/** The offset after the string that starts at `from` with a double quote. Throws JsonError if it is malformed. */
export function scanString(bytes: Buffer, from: number): number {
  for (let at = from + 1; ; ) {
    while (isPlainByte(bytes[at] ?? 0)) at += 1;
    if (at >= bytes.length) throw new JsonError('the text ends inside a string', at);
    const byte = bytes[at];
    if (byte === QUOTE) return at + 1;
    if (byte !== BACKSLASH) throw new JsonError('a control character inside a string', at, 'write it as \\u00XX');
    at += scanEscape(bytes, at);
  }
}

/** The offset after the number that starts at `from`. Throws JsonError for forms that JSON does not have. */
export function scanNumber(bytes: Buffer, from: number): number {
  const { length } = bytes;
  const first = bytes[from] === MINUS ? from + 1 : from;
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

/** The offset after `true`, `false` or `null` at `from`; `from` itself if there is none of them. */
export function scanLiteral(bytes: Buffer, from: number): number {
  for (const literal of literals) {
    let at = 0;
    while (at < literal.length && bytes[from + at] === literal[at]) at += 1;
    if (at === literal.length && !isLetter(bytes[from + at])) return from + at;
  }
  let end = from;
  while (isLetter(bytes[end])) end += 1;
  const word = bytes.toString('latin1', from, end);
  if (word === 'NaN' || word === 'Infinity') throw new JsonError(`${word} is not a JSON number`, from, 'use null');
  if (end === bytes.length && word !== '' && literals.some((literal) => literal.toString().startsWith(word))) {
    throw new JsonError(UNEXPECTED_END, end);
  }
  return from;
}

const escapeBytes = new Uint8Array(256);
for (const kind of '"\\/bfnrt') escapeBytes[kind.charCodeAt(0)] = 1;

const hexBytes = new Uint8Array(256);
for (const digit of '0123456789abcdefABCDEF') hexBytes[digit.charCodeAt(0)] = 1;

// The number of bytes of the escape sequence at `from`.
function scanEscape(bytes: Buffer, from: number): number {
  const { length } = bytes;
  const kind = from + 1 < length ? (bytes[from + 1] ?? 0) : 0x75;
  if (escapeBytes[kind] === 1) return 2;
  if (kind !== 0x75) throw new JsonError('invalid escape sequence', from);
  for (let at = from + 2; at < from + 6; at += 1) {
    if (at >= length) throw new JsonError('the text ends inside a string', length);
    if (hexBytes[bytes[at] ?? 0] !== 1) throw new JsonError('\\u needs four hexadecimal digits', from);
  }
  return 6;
}

function scanDigits(bytes: Buffer, from: number, start: number): number {
  const { length } = bytes;
  let at = from;
  while (at < length && isDigit(bytes[at] ?? 0)) at += 1;
  if (at === from) throw missingDigitError(bytes, at, start);
  return at;
}

function missingDigitError(bytes: Buffer, at: number, start: number): JsonError {
  if (at >= bytes.length) return new JsonError('the text ends inside a number', at);
  const isInfinity = bytes.toString('latin1', at, at + 8) === 'Infinity';
  return isInfinity
    ? new JsonError('-Infinity is not a JSON number', start, 'use null')
    : new JsonError('a malformed number', at);
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

function isLetter(byte: number | undefined): boolean {
  return byte !== undefined && ((byte >= 0x61 && byte <= 0x7a) || (byte >= 0x41 && byte <= 0x5a));
}
