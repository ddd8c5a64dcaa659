import { Buffer } from 'node:buffer';
import type { HttpResponse, RequestBody } from './message.ts';

/** The first bytes of a body, at most `maxBytes`; for a body that was cut, those before the cut. */
export async function collectBodyStart(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      length += chunk.length;
      if (length >= maxBytes) break;
    }
  } catch {}
  return Buffer.concat(chunks).subarray(0, maxBytes);
}

export function concatChunks(chunks: readonly Buffer[]): Buffer {
  const [only] = chunks;
  return only && chunks.length === 1 ? only : Buffer.concat(chunks);
}

export async function* observeChunks<Chunk>(
  chunks: AsyncIterable<Chunk> | Iterable<Chunk>,
  onChunk: (chunk: Chunk) => Promise<void> | void,
): AsyncGenerator<Chunk> {
  for await (const chunk of chunks) {
    await onChunk(chunk);
    yield chunk;
  }
}

/** A response that calls back when its body was read, to its end or not; at once if the whole body has arrived. */
export async function notifyBodyEnd(response: HttpResponse, onEnd: BodyEndListener): Promise<HttpResponse> {
  if (!response.completeBody) return { ...response, body: readAndNotify(response.body, onEnd) };
  await onEnd(true);
  return response;
}

type BodyEndListener = (isComplete: boolean) => Promise<void> | undefined;

async function* readAndNotify(body: HttpResponse['body'], onEnd: BodyEndListener): AsyncGenerator<Uint8Array> {
  let isComplete = false;
  try {
    yield* body;
    isComplete = true;
  } finally {
    await onEnd(isComplete);
  }
}

// Small enough to know that a request that was cut early is incomplete.
export const MAX_CHUNK_BYTES = 64 * 1024;

export function bodyChunks(body: RequestBody): AsyncIterable<Uint8Array> | Iterable<Uint8Array> {
  return body instanceof Uint8Array ? sliceChunks(body) : body.chunks();
}

function* sliceChunks(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += MAX_CHUNK_BYTES) yield bytes.subarray(at, at + MAX_CHUNK_BYTES);
}
