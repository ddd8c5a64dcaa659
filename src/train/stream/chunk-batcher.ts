import { Buffer } from 'node:buffer';

/** How long the bytes of a chunk stay valid: forever (`lasting`), or until the next chunk is requested (`passing`). */
export type ChunkLifetime = 'lasting' | 'passing';

// Small chunks cost more to pass on than to copy, large ones take more memory.
const BATCH_CHUNK_BYTES = 64 * 1024;

/** Combines small `passing` chunks into larger ones. */
export type ChunkBatcher = (chunks: Iterable<Uint8Array>) => Generator<Uint8Array>;

/** A batcher whose chunks have this lifetime. */
export function createChunkBatcher(lifetime: ChunkLifetime): ChunkBatcher {
  let buffer = Buffer.alloc(0);
  // How much of the buffer was yielded, and how much is filled.
  let flushedBytes = 0;
  let filledBytes = 0;
  const flush = function* (): Generator<Uint8Array> {
    if (filledBytes > flushedBytes) yield buffer.subarray(flushedBytes, filledBytes);
    flushedBytes = lifetime === 'lasting' ? filledBytes : 0;
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
        if (filledBytes === buffer.length) {
          yield* flush();
          if (lifetime === 'lasting' || buffer.length === 0) buffer = Buffer.allocUnsafeSlow(BATCH_CHUNK_BYTES);
          flushedBytes = 0;
          filledBytes = 0;
        }
        const part = chunk.subarray(at, at + buffer.length - filledBytes);
        buffer.set(part, filledBytes);
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
