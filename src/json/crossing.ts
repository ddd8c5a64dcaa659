import type { Buffer } from 'node:buffer';

/** A value that is being passed over without being read: where in the bytes one is, and what of it is still open. */
export interface Crossing {
  /** The offset of the next byte to look at; in a string never of one that is escaped, so it may lie behind the end. */
  at: number;
  /** Objects and lists that are open. */
  depth: number;
  inString: boolean;
  /** Line ends that were passed outside of strings, and the offset after the last of them. */
  lines: number;
  lineStart: number;
}

// What a byte outside of strings means here; most mean nothing.
const QUOTE = 1;
const OPEN = 2;
const CLOSE = 3;
const LINE = 4;
const meanings = new Uint8Array(256);
for (const [what, bytes] of [
  [QUOTE, '"'],
  [OPEN, '{['],
  [CLOSE, '}]'],
  [LINE, '\n'],
] as const) {
  for (const byte of bytes) meanings[byte.charCodeAt(0)] = what;
}

/**
 * Goes on through an object, a list or a string as far as there are bytes; true where its end was reached. Only brackets,
 * quotes and line ends are looked at, hundreds of megabytes a second: whether it is JSON is for parseJson to tell.
 */
export function crossed(bytes: Buffer, crossing: Crossing): boolean {
  const end = bytes.length;
  let { at, depth, inString } = crossing;
  let isOver = false;
  while (at < end && !isOver) {
    if (inString) {
      at = closingQuote(bytes, at);
      if (at >= end) break;
      at += 1;
      inString = false;
      isOver = depth === 0;
      continue;
    }
    let what = 0;
    while (what === 0 && at < end) what = meanings[bytes[at++] ?? 0] ?? 0;
    if (what === QUOTE) inString = true;
    else if (what === OPEN) depth += 1;
    else if (what === CLOSE) {
      depth -= 1;
      isOver = depth === 0;
    } else if (what === LINE) {
      crossing.lines += 1;
      crossing.lineStart = at;
    }
  }
  crossing.at = at;
  crossing.depth = depth;
  crossing.inString = inString;
  return isOver;
}

// A loop is faster than a search by the system until a string is longer than this.
const SHORT = 48;

// The offset of the quote that ends a string; where it is not here, that of the first byte to look at once there are more.
function closingQuote(bytes: Buffer, from: number): number {
  let at = from;
  for (;;) {
    const near = Math.min(bytes.length, at + SHORT);
    while (at < near) {
      const byte = bytes[at];
      if (byte === 0x22) return at;
      at += byte === 0x5c ? 2 : 1;
    }
    if (at >= bytes.length) return at;
    const quote = bytes.indexOf(0x22, at);
    const stop = quote === -1 ? bytes.length : quote;
    const isEscaped = backslashesBefore(bytes, stop, at) % 2 === 1;
    if (!isEscaped) return stop;
    at = stop + 1;
  }
}

function backslashesBefore(bytes: Buffer, end: number, start: number): number {
  let at = end;
  while (at > start && bytes[at - 1] === 0x5c) at -= 1;
  return end - at;
}
