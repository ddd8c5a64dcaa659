import type { Buffer } from 'node:buffer';
import { BACKSLASH, CLOSE_ARRAY, CLOSE_OBJECT, LINE_FEED, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from './json-bytes.ts';

/** A value that is being passed over without being read: where in the bytes one is, and what of it is still open. */
export interface SkipState {
  /** The offset of the next byte to look at; in a string never of one that is escaped, so it may lie behind the end. */
  at: number;
  /** Objects and lists that are open. */
  depth: number;
  isInString: boolean;
  /** Line ends that were passed outside of strings, and the offset after the last of them. */
  lines: number;
  lineStart: number;
}

// The bytes that mean something outside of strings.
const structuralBytes = new Uint8Array(256);
for (const byte of '"{}[]\n') structuralBytes[byte.charCodeAt(0)] = 1;

/**
 * Goes on through an object, a list or a string as far as there are bytes; true where its end was reached. Only brackets,
 * quotes and line ends are looked at, hundreds of megabytes a second: whether it is JSON is for parseJson to tell.
 */
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
    } else if (byte === LINE_FEED) {
      state.lines += 1;
      state.lineStart = at;
    }
  }
  state.at = at;
  state.depth = depth;
  state.isInString = isInString;
  return isComplete;
}

// A loop is faster than a search by the system until a string is longer than this.
const SHORT_STRING_BYTES = 48;

// The offset of the quote that ends a string; where it is not here, that of the first byte to look at once there are more.
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
