import type { Buffer } from 'node:buffer';
import { BACKSLASH, CLOSE_ARRAY, CLOSE_OBJECT, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from './json-bytes.ts';

/** The state of skipping a value without parsing it: the position, and the nesting at this position. */
export interface SkipState {
  /** The offset of the next byte to scan. In a string it is never that of an escaped byte, so it can exceed the length. */
  at: number;
  depth: number;
  isInString: boolean;
}

// The bytes that mean something outside of strings.
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
    if (byte === QUOTE) isInString = true;
    else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) depth += 1;
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      depth -= 1;
      isComplete = depth === 0;
    }
  }
  state.at = at;
  state.depth = depth;
  state.isInString = isInString;
  return isComplete;
}

// Up to this length, a loop is faster than indexOf.
const SHORT_STRING_BYTES = 48;

// The offset of the closing quote of a string; if it is not in these bytes, the offset at which to continue the scan.
function closingQuoteOffset(bytes: Buffer, from: number): number {
  let at = from;
  for (;;) {
    const loopEnd = Math.min(bytes.length, at + SHORT_STRING_BYTES);
    while (at < loopEnd) {
      const byte = bytes[at];
      if (byte === QUOTE) return at;
      at += byte === BACKSLASH ? 2 : 1;
    }
    if (at >= bytes.length) return at;
    const quote = bytes.indexOf(QUOTE, at);
    const stop = quote === -1 ? bytes.length : quote;
    const isEscaped = countBackslashesBefore(bytes, stop, at) % 2 === 1;
    if (!isEscaped) return stop;
    at = stop + 1;
  }
}

function countBackslashesBefore(bytes: Buffer, end: number, start: number): number {
  let at = end;
  while (at > start && bytes[at - 1] === BACKSLASH) at -= 1;
  return end - at;
}
