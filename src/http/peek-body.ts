import type { Response } from './message.ts';

/** A reply of whose body the first byte that is no blank is known; the body still holds all of it. */
export interface PeekedResponse {
  readonly firstByte: number | undefined;
  readonly response: Response;
}

/** Waits for the first byte of a reply's body that is no blank. Throws what the connection throws. */
export async function peekBody(response: Response): Promise<PeekedResponse> {
  if (response.completeBody) return { firstByte: firstNonSpaceByte(response.completeBody), response };
  const chunks: Uint8Array[] = [];
  const rest = response.body[Symbol.asyncIterator]();
  let firstByte: number | undefined;
  for (let next = await rest.next(); !next.done; next = await rest.next()) {
    chunks.push(next.value);
    firstByte = firstNonSpaceByte(next.value);
    if (firstByte !== undefined) break;
  }
  return { firstByte, response: { ...response, body: prependChunks(chunks, rest) } };
}

function firstNonSpaceByte(chunk: Uint8Array): number | undefined {
  return chunk.find((byte) => byte > 0x20);
}

async function* prependChunks(
  chunks: readonly Uint8Array[],
  rest: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  try {
    yield* chunks;
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}
