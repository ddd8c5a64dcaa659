import { Buffer } from 'node:buffer';

/** Text to put somewhere; bytes where it is too large to be held as a string, or stands in a document already. */
export type Text = string | Uint8Array;

/** A change of a text: the bytes from `start` to `end` give way to `text`. */
export interface Splice {
  readonly start: number;
  readonly end: number;
  readonly text: Text;
}

/** The bytes with all splices made; every byte outside of them stays. Splices may touch but not overlap. */
export function splice(bytes: Buffer, splices: readonly Splice[]): Buffer {
  // A stable sort: insertions at one offset keep the order in which they were asked for.
  const ordered = [...splices].sort((left, right) => left.start - right.start);
  const pieces: Uint8Array[] = [];
  let at = 0;
  for (const { start, end, text } of ordered) {
    pieces.push(bytes.subarray(at, start), typeof text === 'string' ? Buffer.from(text) : text);
    at = end;
  }
  pieces.push(bytes.subarray(at));
  return Buffer.concat(pieces);
}
