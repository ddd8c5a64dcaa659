import type { Reply } from './message.ts';

/** A reply of whose body the first byte that is no blank is known; the body still holds all of it. */
export interface Peeked {
  readonly first: number | undefined;
  readonly reply: Reply;
}

/** Waits for the first byte of a reply's body that is no blank. Throws what the connection throws. */
export async function peek(reply: Reply): Promise<Peeked> {
  if (reply.whole) return { first: firstIn(reply.whole), reply };
  const pieces: Uint8Array[] = [];
  const rest = reply.body[Symbol.asyncIterator]();
  let first: number | undefined;
  for (let next = await rest.next(); !next.done; next = await rest.next()) {
    pieces.push(next.value);
    first = firstIn(next.value);
    if (first !== undefined) break;
  }
  return { first, reply: { ...reply, body: joined(pieces, rest) } };
}

function firstIn(piece: Uint8Array): number | undefined {
  return piece.find((byte) => byte > 0x20);
}

async function* joined(pieces: readonly Uint8Array[], rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* pieces;
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}
