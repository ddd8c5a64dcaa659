import { Buffer } from 'node:buffer';
import type { Holding } from './holding.ts';

/** A body that is arriving: what comes is given to who reads it, and who reads slowly holds it up. */
export interface Arriving {
  readonly body: AsyncIterable<Uint8Array>;
  /** All of it, if that has come and nobody has begun to read; undefined otherwise. */
  readonly whole: () => Uint8Array | undefined;
  readonly push: (piece: Uint8Array) => void;
  readonly end: () => void;
  readonly fail: (error: unknown) => void;
}

// Bytes that may wait to be read.
const MOST = 256 * 1024;

/** A body of which nothing has arrived yet, over a connection that is held up while too much of it waits to be read. */
export function arriving({ hold, release }: Holding): Arriving {
  let pieces: Uint8Array[] = [];
  let waiting = 0;
  let isHeld = false;
  let end: { readonly error?: unknown } | undefined;
  let tell = (): void => {};
  const body = async function* (): AsyncGenerator<Uint8Array> {
    for (;;) {
      const ready = pieces;
      pieces = [];
      waiting = 0;
      if (isHeld) {
        isHeld = false;
        release();
      }
      yield* ready;
      if (pieces.length > 0) continue;
      if (end && 'error' in end) throw end.error;
      if (end) return;
      await new Promise<void>((resolve) => {
        tell = resolve;
      });
    }
  };
  return {
    body: body(),
    whole: () => (end && !('error' in end) ? together(pieces) : undefined),
    push: (piece) => {
      pieces.push(piece);
      waiting += piece.length;
      if (waiting > MOST && !isHeld) {
        isHeld = true;
        hold();
      }
      tell();
    },
    end: () => {
      end ??= {};
      tell();
    },
    fail: (error) => {
      end ??= { error };
      tell();
    },
  };
}

function together(pieces: readonly Uint8Array[]): Uint8Array {
  const [only] = pieces;
  return only && pieces.length === 1 ? only : Buffer.concat(pieces);
}
