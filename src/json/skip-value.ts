import type { Buffer } from 'node:buffer';
import * as ascii from './json-bytes.ts';

export interface SkipState {
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
