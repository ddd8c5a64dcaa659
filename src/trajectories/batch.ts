import { Buffer } from 'node:buffer';

/** How long the bytes of a piece stay what they are: for good, or until the next one is asked for. */
export type Lasting = 'lasting' | 'passing';

// Small pieces cost more to hand over than to copy.
const ENOUGH = 64 * 1024;

/** Puts small pieces together; for one text, because what is passing is written where the last of it was. */
export type Batch = (pieces: Iterable<Uint8Array>) => Generator<Uint8Array>;

/** A batch of pieces that are passing themselves. */
export function newBatch(lasting: Lasting): Batch {
  let room = Buffer.alloc(0);
  return function* (pieces) {
    let used = 0;
    for (const piece of pieces) {
      if (used + piece.length > ENOUGH) {
        if (used > 0) yield room.subarray(0, used);
        used = 0;
        if (piece.length > ENOUGH) {
          yield lasting === 'lasting' ? Buffer.from(piece) : piece;
          continue;
        }
      }
      if (used === 0 && (lasting === 'lasting' || room.length === 0)) room = Buffer.allocUnsafeSlow(ENOUGH);
      room.set(piece, used);
      used += piece.length;
    }
    if (used > 0) yield room.subarray(0, used);
  };
}

/** Pieces that stay what they are, of pieces that do not. */
export async function* lasting(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) yield Buffer.from(piece);
}
