import { Buffer } from 'node:buffer';

/** How long the bytes of a piece stay what they are: for good, or until the next one is asked for. */
export type Lasting = 'lasting' | 'passing';

// Small pieces cost more to hand over than to copy, large ones more to hold.
const ENOUGH = 64 * 1024;

/** Makes pieces of a good size of others, which are passing. */
export type Batch = (pieces: Iterable<Uint8Array>) => Generator<Uint8Array>;

/** A batch whose pieces are lasting, or passing like those they are made of. */
export function newBatch(lasting: Lasting): Batch {
  let room = Buffer.alloc(0);
  // What of the room was handed out, and what is filled.
  let given = 0;
  let filled = 0;
  const hand = function* (): Generator<Uint8Array> {
    if (filled > given) yield room.subarray(given, filled);
    given = lasting === 'lasting' ? filled : 0;
    filled = given;
  };
  return function* (pieces) {
    for (const piece of pieces) {
      if (lasting === 'passing' && piece.length > ENOUGH) {
        yield* hand();
        yield piece;
        continue;
      }
      for (let at = 0; at < piece.length; ) {
        if (filled === room.length) {
          yield* hand();
          if (lasting === 'lasting' || room.length === 0) room = Buffer.allocUnsafeSlow(ENOUGH);
          given = 0;
          filled = 0;
        }
        const some = piece.subarray(at, at + room.length - filled);
        room.set(some, filled);
        filled += some.length;
        at += some.length;
      }
    }
    yield* hand();
  };
}

/** Pieces that stay what they are, of pieces that do not. */
export async function* lasting(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) yield Buffer.from(piece);
}
