/** A body of which the first byte that is no blank is known; the body still holds all of it. */
export interface Peeked {
  readonly first: number | undefined;
  readonly body: AsyncIterable<Uint8Array>;
}

/** Waits for the first byte of a body that is no blank. Throws what the connection throws. */
export async function peek(body: AsyncIterable<Uint8Array>): Promise<Peeked> {
  const pieces: Uint8Array[] = [];
  const rest = body[Symbol.asyncIterator]();
  let first: number | undefined;
  for (let next = await rest.next(); !next.done; next = await rest.next()) {
    pieces.push(next.value);
    first = next.value.find((byte) => byte > 0x20);
    if (first !== undefined) break;
  }
  return { first, body: joined(pieces, rest) };
}

async function* joined(pieces: readonly Uint8Array[], rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* pieces;
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}
