import { Buffer } from 'node:buffer';

/** Copies the bytes of a body up to a limit. */
export function createBodyCopy(maxBytes: number): {
  readonly add: (chunk: Uint8Array) => void;
  readonly bytes: () => Buffer;
} {
  const chunks: Buffer[] = [];
  let length = 0;
  return {
    add: (chunk) => {
      if (length < maxBytes) chunks.push(Buffer.from(chunk.subarray(0, maxBytes - length)));
      length += chunk.length;
    },
    bytes: () => Buffer.concat(chunks),
  };
}

/** The same chunks, each also given to a function; `onEnd` is awaited when they end, are cut or are abandoned. */
export async function* tapChunks(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  onChunk: (chunk: Uint8Array) => void,
  onEnd: () => Promise<void> = async () => {},
): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of chunks) {
      onChunk(chunk);
      yield chunk;
    }
  } finally {
    await onEnd();
  }
}
