import type { Buffer } from 'node:buffer';
import { JsonError } from './json-error.ts';

/** The offset after the string that starts at `from` with a double quote. Throws JsonError where it is malformed. */
export function scanString(bytes: Buffer, from: number): number {
  let at = from + 1;
  for (;;) {
    let byte = bytes[at];
    while (byte !== undefined && byte !== 0x22 && byte !== 0x5c && byte >= 0x20) {
      at += 1;
      byte = bytes[at];
    }
    if (byte === undefined) throw new JsonError('the text ends inside a string', at);
    if (byte === 0x22) return at + 1;
    if (byte !== 0x5c) throw new JsonError('a control character inside a string; write it as \\u00XX', at);
    at += scanEscape(bytes, at);
  }
}

/** The offset after the number that starts at `from`. Throws JsonError for forms that JSON does not have. */
export function scanNumber(bytes: Buffer, from: number): number {
  let at = bytes[from] === 0x2d ? from + 1 : from;
  const first = at;
  at = scanDigits(bytes, at, from);
  if (bytes[first] === 0x30 && at > first + 1) throw new JsonError('a number with a leading zero', first);
  if (bytes[at] === 0x2e) at = scanDigits(bytes, at + 1, from);
  if (bytes[at] === 0x65 || bytes[at] === 0x45) {
    const sign = bytes[at + 1];
    at = scanDigits(bytes, sign === 0x2b || sign === 0x2d ? at + 2 : at + 1, from);
  }
  return at;
}

/** The offset after `true`, `false` or `null` at `from`; `from` itself where none of them stands. */
export function scanLiteral(bytes: Buffer, from: number): number {
  let end = from;
  while (isLetter(bytes[end])) end += 1;
  const word = bytes.toString('latin1', from, end);
  if (word === 'true' || word === 'false' || word === 'null') return end;
  if (word === 'NaN' || word === 'Infinity') throw new JsonError(`${word} is not a JSON number; use null`, from);
  if (end === bytes.length && word !== '' && ['true', 'false', 'null'].some((whole) => whole.startsWith(word))) {
    throw new JsonError('the text ends too early', end);
  }
  return from;
}

const escapeBytes = new Uint8Array(256);
for (const kind of '"\\/bfnrt') escapeBytes[kind.charCodeAt(0)] = 1;

function scanEscape(bytes: Buffer, at: number): number {
  const kind = bytes[at + 1];
  if (kind === undefined) throw new JsonError('the text ends inside a string', bytes.length);
  if (kind !== 0x75) {
    if (escapeBytes[kind] === 1) return 2;
    throw new JsonError('an escape that JSON does not have', at);
  }
  const hex = bytes.toString('latin1', at + 2, at + 6);
  if (/^[0-9a-fA-F]{4}$/.test(hex)) return 6;
  if (at + 6 > bytes.length && /^[0-9a-fA-F]*$/.test(hex)) {
    throw new JsonError('the text ends inside a string', bytes.length);
  }
  throw new JsonError('\\u needs four hexadecimal digits', at);
}

function scanDigits(bytes: Buffer, from: number, start: number): number {
  let at = from;
  for (let byte = bytes[at]; byte !== undefined && byte >= 0x30 && byte <= 0x39; byte = bytes[at]) at += 1;
  if (at > from) return at;
  if (at >= bytes.length) throw new JsonError('the text ends inside a number', at);
  const isInfinity = bytes.toString('latin1', at, at + 8) === 'Infinity';
  throw new JsonError(
    isInfinity ? '-Infinity is not a JSON number; use null' : 'a malformed number',
    isInfinity ? start : at,
  );
}

function isLetter(byte: number | undefined): boolean {
  return byte !== undefined && ((byte >= 0x61 && byte <= 0x7a) || (byte >= 0x41 && byte <= 0x5a));
}
