import { Buffer } from 'node:buffer';
import type { PauseControl } from './pausable-socket.ts';

/** A body that is arriving: what comes is given to who reads it, and who reads slowly holds it up. */
export interface BodyQueue {
  readonly body: AsyncIterable<Uint8Array>;
  /** All of it, if that has come and nobody has begun to read; undefined otherwise. */
  readonly completeBody: () => Uint8Array | undefined;
  readonly push: (chunk: Uint8Array) => void;
  readonly end: () => void;
  readonly fail: (error: unknown) => void;
}

// Bytes that may wait to be read.
const MAX_QUEUED_BYTES = 256 * 1024;

/** A body of which nothing has arrived yet, over a connection that is held up while too much of it waits to be read. */
export function createBodyQueue({ pause, resume }: PauseControl): BodyQueue {
  let chunks: Uint8Array[] = [];
  let queuedBytes = 0;
  let isPaused = false;
  let end: { readonly error?: unknown } | undefined;
  let wakeReader = (): void => {};
  const body = async function* (): AsyncGenerator<Uint8Array> {
    for (;;) {
      const ready = chunks;
      chunks = [];
      queuedBytes = 0;
      if (isPaused) {
        isPaused = false;
        resume();
      }
      yield* ready;
      if (chunks.length > 0) continue;
      if (end && 'error' in end) throw end.error;
      if (end) return;
      await new Promise<void>((resolve) => {
        wakeReader = resolve;
      });
    }
  };
  return {
    body: body(),
    completeBody: () => (end && !('error' in end) ? concatChunks(chunks) : undefined),
    push: (chunk) => {
      chunks.push(chunk);
      queuedBytes += chunk.length;
      if (queuedBytes > MAX_QUEUED_BYTES && !isPaused) {
        isPaused = true;
        pause();
      }
      wakeReader();
    },
    end: () => {
      end ??= {};
      wakeReader();
    },
    fail: (error) => {
      end ??= { error };
      wakeReader();
    },
  };
}

function concatChunks(chunks: readonly Uint8Array[]): Uint8Array {
  const [only] = chunks;
  return only && chunks.length === 1 ? only : Buffer.concat(chunks);
}
