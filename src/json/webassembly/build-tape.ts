// AssemblyScript: TypeScript whose types are those of WebAssembly. The build compiles it; ../fast-parser.ts calls it.
// Offsets and entries are addresses in its memory. It reads 16 bytes at a time, also beyond the end of the text, but decides
// nothing after the zero byte there: no token contains one.
import * as ascii from '../json-bytes.ts';

// The size of an entry of the tape, and the offsets of its three numbers (JsonDocument).
const ENTRY_BYTES: i32 = 12;
const START: i32 = 0;
const END: i32 = 4;
const NEXT: i32 = 8;

// The signature of a key with escapes, whose text has to be compared.
const NO_SIGNATURE: i32 = 0;
// As an address, the start of the memory, where no token ends.
const MALFORMED_VALUE: i32 = 0;
const NO_CONTAINER: i32 = 0;
const MAX_PAGES: i32 = 16 * 1024;

let hasEscape = false;

/** Grows the memory to this many bytes, up to 1 GiB; it is never freed. False if there is too little. */
export function reserveMemory(bytes: u32): bool {
  const pages: i32 = (bytes + 0xffff) >>> 16;
  const missing = pages - memory.size();
  return missing <= 0 || (pages <= MAX_PAGES && memory.grow(missing) >= 0);
}

/** Writes the tape of the value at `start`, before a zero byte. Returns its bytes; MALFORMED_VALUE also without memory. */
export function buildTape(start: i32, tape: i32): i32 {
  let tapeEnd = memory.size() << 16;
  let entry = tape;
  let count = 0;
  let innermost = NO_CONTAINER;
  let isInObject = false;
  let at = start;
  while (true) {
    if (entry + 2 * ENTRY_BYTES > tapeEnd) {
      if (!reserveMemory(tapeEnd + (tapeEnd >> 2))) return MALFORMED_VALUE;
      tapeEnd = memory.size() << 16;
    }
    if (isInObject) {
      if (byteAt(at) !== ascii.QUOTE) return MALFORMED_VALUE;
      const end = skipString(at);
      if (end === MALFORMED_VALUE) return MALFORMED_VALUE;
      store<i32>(entry + START, at - start);
      store<i32>(entry + END, end - start);
      store<i32>(entry + NEXT, hasEscape ? NO_SIGNATURE : keySignature(at + 1, end - 1));
      entry += ENTRY_BYTES;
      count += 1;
      at = skipWhitespace(end);
      if (byteAt(at) !== ascii.COLON) return MALFORMED_VALUE;
      at = skipWhitespace(at + 1);
    }
    store<i32>(entry + START, at - start);
    count += 1;
    const first = byteAt(at);
    if (first === ascii.OPEN_OBJECT || first === ascii.OPEN_ARRAY) {
      store<i32>(entry + NEXT, isInObject ? ~innermost : innermost);
      innermost = entry;
      isInObject = first === ascii.OPEN_OBJECT;
      entry += ENTRY_BYTES;
      at = skipWhitespace(at + 1);
      if (byteAt(at) !== (isInObject ? ascii.CLOSE_OBJECT : ascii.CLOSE_ARRAY)) continue;
    } else {
      at = first === ascii.QUOTE ? skipString(at) : skipScalar(at);
      if (at === MALFORMED_VALUE) return MALFORMED_VALUE;
      store<i32>(entry + END, at - start);
      store<i32>(entry + NEXT, count);
      entry += ENTRY_BYTES;
    }
    while (true) {
      if (innermost === NO_CONTAINER) return entry - tape;
      at = skipWhitespace(at);
      const byte = byteAt(at);
      if (byte === ascii.COMMA) break;
      if (byte !== (isInObject ? ascii.CLOSE_OBJECT : ascii.CLOSE_ARRAY)) return MALFORMED_VALUE;
      at += 1;
      const around = load<i32>(innermost + NEXT);
      store<i32>(innermost + END, at - start);
      store<i32>(innermost + NEXT, count);
      isInObject = around < 0;
      innermost = isInObject ? ~around : around;
    }
    // A value cannot start with the end of a container, so a comma before one is found when the next value is read.
    at = skipWhitespace(at + 1);
  }
}

function byteAt(at: i32): i32 {
  return load<u8>(at);
}

function keySignature(start: i32, end: i32): i32 {
  const middle = (start + end) >> 1;
  return ((end - start) << 24) | (byteAt(start) << 16) | (byteAt(middle) << 8) | byteAt(end - 1);
}

// Most tokens follow without whitespace, which is checked where it is called: only functions without a loop are inlined.
function skipWhitespace(at: i32): i32 {
  return byteAt(at) > ascii.SPACE ? at : skipSpaces(at);
}

function skipSpaces(from: i32): i32 {
  let at = from;
  while (isWhitespace(byteAt(at))) at += 1;
  return at;
}

function isWhitespace(byte: i32): bool {
  if (byte > ascii.SPACE) return false;
  return byte === ascii.SPACE || byte === ascii.LINE_FEED || byte === ascii.CARRIAGE_RETURN || byte === ascii.TAB;
}

function skipString(from: i32): i32 {
  hasEscape = false;
  let at = from + 1;
  while (true) {
    const block = v128.load(at);
    const quotes = i8x16.eq(block, i8x16.splat(ascii.QUOTE as i8));
    const backslashes = i8x16.eq(block, i8x16.splat(ascii.BACKSLASH as i8));
    const controls = i8x16.lt_u(block, i8x16.splat(ascii.SPACE as i8));
    const special = i8x16.bitmask(v128.or(v128.or(quotes, backslashes), controls));
    if (special === 0) {
      at += 16;
      continue;
    }
    at += ctz(special);
    const byte = byteAt(at);
    if (byte === ascii.QUOTE) return at + 1;
    if (byte !== ascii.BACKSLASH) return MALFORMED_VALUE;
    hasEscape = true;
    at = skipEscape(at);
    if (at === MALFORMED_VALUE) return MALFORMED_VALUE;
  }
}

function skipEscape(from: i32): i32 {
  const kind = byteAt(from + 1);
  const isMark = kind === ascii.QUOTE || kind === ascii.BACKSLASH || kind === 0x2f;
  const isLetter = kind === 0x62 || kind === 0x66 || kind === 0x6e || kind === 0x72 || kind === 0x74;
  if (isMark || isLetter) return from + 2;
  if (kind !== 0x75) return MALFORMED_VALUE;
  for (let at = from + 2; at < from + 6; at += 1) if (!isHexDigit(byteAt(at))) return MALFORMED_VALUE;
  return from + 6;
}

function isHexDigit(byte: i32): bool {
  return isDigit(byte) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66);
}

function isDigit(byte: i32): bool {
  return byte >= 0x30 && byte <= 0x39;
}

function skipScalar(from: i32): i32 {
  const first = byteAt(from) === ascii.MINUS ? from + 1 : from;
  if (first === from && !isDigit(byteAt(from))) return skipLiteral(from);
  let at = skipDigits(first);
  if (at > first + 1 && byteAt(first) === 0x30) return MALFORMED_VALUE;
  if (at !== MALFORMED_VALUE && byteAt(at) === 0x2e) at = skipDigits(at + 1);
  if (at !== MALFORMED_VALUE && (byteAt(at) | 0x20) === 0x65) {
    const sign = byteAt(at + 1);
    at = skipDigits(sign === 0x2b || sign === ascii.MINUS ? at + 2 : at + 1);
  }
  return at;
}

function skipDigits(from: i32): i32 {
  let at = from;
  while (isDigit(byteAt(at))) at += 1;
  return at === from ? MALFORMED_VALUE : at;
}

// The letters of `true`, `false` and `null`, of which WebAssembly loads four as one number. A longer word is none of them.
function skipLiteral(at: i32): i32 {
  const word = load<i32>(at);
  const isFalse = word === 0x736c6166 && byteAt(at + 4) === 0x65;
  const end = word === 0x65757274 || word === 0x6c6c756e ? at + 4 : isFalse ? at + 5 : MALFORMED_VALUE;
  return isLetter(byteAt(end)) ? MALFORMED_VALUE : end;
}

function isLetter(byte: i32): bool {
  return (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a;
}

const MAX_COMPARED_KEYS: i32 = 32;

/** False if an object may have a key twice, by the signatures in the tape; `text` is the address of its first byte. */
export function hasDistinctKeys(text: i32, tape: i32, tapeEnd: i32): bool {
  for (let object = tape; object < tapeEnd; object += ENTRY_BYTES) {
    if (byteAt(text + load<i32>(object + START)) !== ascii.OPEN_OBJECT) continue;
    const firstKey = object + ENTRY_BYTES;
    const end = entryAfter(object, tape);
    let count = 0;
    for (let key = firstKey; key < end; key = entryAfter(key + ENTRY_BYTES, tape)) {
      const signature = load<i32>(key + NEXT);
      if (signature === NO_SIGNATURE || count === MAX_COMPARED_KEYS) return false;
      for (let other = firstKey; other < key; other = entryAfter(other + ENTRY_BYTES, tape))
        if (load<i32>(other + NEXT) === signature) return false;
      count += 1;
    }
  }
  return true;
}

function entryAfter(value: i32, tape: i32): i32 {
  return tape + load<i32>(value + NEXT) * ENTRY_BYTES;
}
