import { Buffer } from 'node:buffer';

/** How long the bytes of a piece stay what they are: for good, or until the next one is asked for. */
export type ChunkLifetime = 'lasting' | 'passing';

// Small pieces cost more to hand over than to copy, large ones more to hold.
const BATCH_CHUNK_BYTES = 64 * 1024;

/** Makes pieces of a good size of others, which are passing. */
export type ChunkBatcher = (chunks: Iterable<Uint8Array>) => Generator<Uint8Array>;

/** A batch whose pieces are lasting, or passing like those they are made of. */
export function createChunkBatcher(lifetime: ChunkLifetime): ChunkBatcher {
  let buffer = Buffer.alloc(0);
  // What of the room was handed out, and what is filled.
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

/** Pieces that stay what they are, of pieces that do not. */
export async function* copyChunks(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) yield Buffer.from(chunk);
}
