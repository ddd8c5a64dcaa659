/** The chunks, each passed to `onChunk` before it is passed on. Throws what `onChunk` throws. */
export async function* observeChunks<Chunk>(
  chunks: AsyncIterable<Chunk>,
  onChunk: (chunk: Chunk) => Promise<void> | void,
): AsyncGenerator<Chunk> {
  for await (const chunk of chunks) {
    await onChunk(chunk);
    yield chunk;
  }
}
