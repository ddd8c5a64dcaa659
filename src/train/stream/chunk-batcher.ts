import { Buffer } from 'node:buffer';

/**
 * How long the bytes of a chunk stay valid: until the next chunk is requested (`passing`), or until another 512 KiB were
 * yielded (`sendable`), which a socket has written by then: it holds back less before it asks its writer to wait.
 */
export type ChunkLifetime = 'sendable' | 'passing';

// Smaller chunks cost more to pass on than to copy; larger ones take more memory.
const BATCH_CHUNK_BYTES = 128 * 1024;

// The one that is filled, the one that was yielded last and may be withheld, and 512 KiB after it.
const SENDABLE_BUFFERS = 6;

/** Combines small `passing` chunks into larger ones. */
export type ChunkBatcher = (chunks: Iterable<Uint8Array>) => Generator<Uint8Array>;

/** A batcher whose chunks have this lifetime. It reuses its buffers, so that gigabytes leave no garbage. */
export function createChunkBatcher(lifetime: ChunkLifetime): ChunkBatcher {
  const buffers: Buffer[] = [];
  const bufferCount = lifetime === 'sendable' ? SENDABLE_BUFFERS : 1;
  let current = 0;
  // The offsets in the current buffer up to which it was yielded, and filled.
  let flushedBytes = 0;
  let filledBytes = 0;
  const currentBuffer = (): Buffer => (buffers[current] ??= Buffer.allocUnsafeSlow(BATCH_CHUNK_BYTES));
  const flush = function* (): Generator<Uint8Array> {
    if (filledBytes > flushedBytes) yield currentBuffer().subarray(flushedBytes, filledBytes);
    flushedBytes = lifetime === 'sendable' ? filledBytes : 0;
    filledBytes = flushedBytes;
  };
  return function* (chunks) {
    for (const chunk of chunks) {
      if (lifetime === 'passing' && chunk.length > BATCH_CHUNK_BYTES) {
        yield* flush();
        yield chunk;
        continue;
      }
      for (let at = 0; at < chunk.length; ) {
        if (filledBytes === BATCH_CHUNK_BYTES) {
          yield* flush();
          current = (current + 1) % bufferCount;
          flushedBytes = 0;
          filledBytes = 0;
        }
        const part = chunk.subarray(at, at + BATCH_CHUNK_BYTES - filledBytes);
        currentBuffer().set(part, filledBytes);
        filledBytes += part.length;
        at += part.length;
      }
    }
    yield* flush();
  };
}

/** Copies of `passing` chunks, which last. */
export async function* copyChunks(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) yield Buffer.from(chunk);
}
