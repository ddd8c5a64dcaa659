/** What `rest` yields, after a chunk that was taken from it; `rest` is closed also if only that chunk is read. */
export async function* prependChunk<T>(chunk: T, rest: AsyncIterator<T>): AsyncGenerator<T> {
  try {
    yield chunk;
    yield* { [Symbol.asyncIterator]: () => rest };
  } finally {
    await rest.return?.();
  }
}
