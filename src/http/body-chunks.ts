import { Buffer } from 'node:buffer';
import { formatByteSize } from '../files/byte-size.ts';
import { collectChunks, prependChunk } from '../files/read-input.ts';
import { CARRIAGE_RETURN, LINE_FEED, SPACE, TAB } from '../json/json-bytes.ts';
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

/** The largest response that is not a stream; MAX_STREAM_BYTES limits a stream. */
export const MAX_RESPONSE_BYTES = 32 * 1024 * 1024;

/** A body that svc cannot read: longer than its limit, or in an unknown encoding. The message is the reason. */
export class UnusableBodyError extends Error {
  override readonly name = 'UnusableBodyError';
}

/** All bytes, held only once if their length is expected. Throws UnusableBodyError beyond `maxBytes`, and what a cut connection throws. */
export async function collectBody(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
  expectedBytes = 0,
): Promise<Buffer> {
  const tooLarge = (): Error => new UnusableBodyError(`it has more than ${formatByteSize(maxBytes)}`);
  if (expectedBytes > 0 && expectedBytes <= maxBytes) return collectChunks(body, expectedBytes, maxBytes, tooLarge);
  // Garbage collection may come after several endless bodies, whereas this memory is freed at once.
  const memory = new ArrayBuffer(0, { maxByteLength: maxBytes });
  const view = new Uint8Array(memory);
  try {
    let length = 0;
    for await (const chunk of body) {
      const needed = length + chunk.length;
      if (needed > maxBytes) throw tooLarge();
      if (needed > memory.byteLength) memory.resize(Math.min(maxBytes, needed + Math.min(GROWTH_BYTES, 2 * needed)));
      view.set(chunk, length);
      length = needed;
    }
    return Buffer.from(view.subarray(0, length));
  } finally {
    memory.resize(0);
  }
}

const GROWTH_BYTES = 1024 * 1024; // At most: new memory is cleared, which takes longer than a short response.

// The whitespace of JSON and of event streams, and the bytes of a byte order mark.
const WHITESPACE_BYTES = [SPACE, TAB, LINE_FEED, CARRIAGE_RETURN, 0xef, 0xbb, 0xbf];

// Whitespace before a body means nothing; some servers send it to keep the connection alive.
const MAX_LEADING_SPACE_BYTES = 64 * 1024 * 1024;

/** The first byte that is not whitespace, and the whole response. Throws as the connection does, and UnusableBodyError for endless whitespace. */
export async function peekBody(
  response: HttpResponse,
): Promise<{ firstByte: number | undefined; response: HttpResponse }> {
  if (response.completeBody) return { firstByte: firstNonSpaceByte(response.completeBody), response };
  const rest = response.body[Symbol.asyncIterator]();
  let spaceBytes = 0;
  for (let next = await rest.next(); !next.done; next = await rest.next()) {
    const firstByte = firstNonSpaceByte(next.value);
    if (firstByte !== undefined) return { firstByte, response: { ...response, body: prependChunk(next.value, rest) } };
    spaceBytes += next.value.length;
    if (spaceBytes <= MAX_LEADING_SPACE_BYTES) continue;
    await rest.return?.();
    throw new UnusableBodyError(`it starts with more than ${formatByteSize(MAX_LEADING_SPACE_BYTES)} of whitespace`);
  }
  return { firstByte: undefined, response: { ...response, body: prependChunk(new Uint8Array(), rest) } };
}

function firstNonSpaceByte(chunk: Uint8Array): number | undefined {
  return chunk.find((byte) => !WHITESPACE_BYTES.includes(byte));
}
