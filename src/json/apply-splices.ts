import { Buffer } from 'node:buffer';

/** Text to put somewhere; bytes where it is too large to be held as a string, or stands in a document already. */
export type StringOrBytes = string | Uint8Array;

/** A change of a text: the bytes from `start` to `end` give way to `text`. */
export interface Splice {
  readonly start: number;
  readonly end: number;
  readonly text: StringOrBytes;
}

/** The bytes with all splices made; every byte outside of them stays. Splices may touch but not overlap. */
export function applySplices(bytes: Buffer, splices: readonly Splice[]): Buffer {
  // A stable sort: insertions at one offset keep the order in which they were asked for.
  const ordered = [...splices].sort((left, right) => left.start - right.start);
  const parts: Uint8Array[] = [];
  let at = 0;
  for (const { start, end, text } of ordered) {
    parts.push(bytes.subarray(at, start), typeof text === 'string' ? Buffer.from(text) : text);
    at = end;
  }
  parts.push(bytes.subarray(at));
  return Buffer.concat(parts);
}
