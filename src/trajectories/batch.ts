import { Buffer } from 'node:buffer';

// Small pieces cost more to send than to copy.
const ENOUGH = 64 * 1024;

/** The same bytes in fewer pieces: small ones are put together, large ones stay what they are. */
export function* batched(pieces: Iterable<Uint8Array>): Generator<Uint8Array> {
  let small: Uint8Array[] = [];
  let length = 0;
  for (const piece of pieces) {
    if (piece.length < ENOUGH) {
      small.push(piece);
      length += piece.length;
      if (length < ENOUGH) continue;
    }
    if (small.length > 0) yield Buffer.concat(small);
    if (piece.length >= ENOUGH) yield piece;
    small = [];
    length = 0;
  }
  if (small.length > 0) yield Buffer.concat(small);
}
