import type { Buffer } from 'node:buffer';
import { concatChunks } from './collect-body.ts';
import type { ReadControl } from './read-control.ts';

/** A body that is arriving. A slow reader pauses the connection. */
export interface BodyQueue {
  readonly body: AsyncIterable<Uint8Array>;
  /** The whole body if it has arrived and none of it was read; undefined otherwise. */
  readonly completeBody: () => Buffer | undefined;
  readonly push: (chunk: Buffer) => void;
  readonly end: () => void;
  readonly fail: (error: unknown) => void;
}

const MAX_QUEUED_BYTES = 256 * 1024;

/** An empty queue for a body; the connection is paused while more than 256 KiB wait to be read. */
export function createBodyQueue({ pause, resume }: Pick<ReadControl, 'pause' | 'resume'>): BodyQueue {
  let chunks: Buffer[] = [];
  let queuedBytes = 0;
  let isPaused = false;
  let end: { readonly error?: unknown } | undefined;
  let wakeReader = (): void => {};
  const readChunks = async function* (): AsyncGenerator<Uint8Array> {
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
    body: { [Symbol.asyncIterator]: readChunks },
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
