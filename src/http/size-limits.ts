import { Buffer } from 'node:buffer';
import { pipeline, Readable, type Transform } from 'node:stream';
import { formatByteSize } from '../files/byte-size.ts';
import { collectChunks, prependChunk } from '../files/read-input.ts';
import { CARRIAGE_RETURN, LINE_FEED, SPACE, TAB } from '../json/json-bytes.ts';
import { getHeader, type HttpResponse } from './message.ts';

/** Of a response that is not a stream. */
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
      if (needed > memory.byteLength) memory.resize(Math.min(maxBytes, needed + GROWTH_BYTES));
      view.set(chunk, length);
      length = needed;
    }
    return Buffer.from(view.subarray(0, length));
  } finally {
    memory.resize(0);
  }
}

const GROWTH_BYTES = 1024 * 1024;

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

// A small body may have any ratio; a long one with this ratio is an attack.
const RATIO_EXEMPT_BYTES = 8 * 1024 * 1024;
const MAX_INFLATION_RATIO = 200;

/** Decompresses the body as it arrives. Reading it throws UnusableBodyError, and what the connection throws after the last byte before a cut. */
export function decompressResponse(response: HttpResponse): HttpResponse {
  const encoding = getHeader(response.headers, 'content-encoding')?.trim().toLowerCase() ?? '';
  return encoding === '' || encoding === 'identity'
    ? response
    : { ...response, body: decompressBody(response.body, encoding), completeBody: undefined };
}

async function* decompressBody(body: AsyncIterable<Uint8Array>, encoding: string): AsyncGenerator<Uint8Array> {
  const decompressor = await createDecompressor(encoding);
  let compressedBytes = 0;
  let inflatedBytes = 0;
  let cut: { readonly error: unknown } | undefined;
  const readCompressed = async function* (): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of body) {
        compressedBytes += chunk.length;
        yield chunk;
      }
    } catch (error) {
      // As an error of the stream it would overtake the bytes that are not yet inflated.
      cut = { error };
    }
  };
  const inflated: AsyncIterable<Uint8Array> = pipeline(Readable.from(readCompressed()), decompressor, () => {});
  try {
    for await (const chunk of inflated) {
      inflatedBytes += chunk.length;
      if (inflatedBytes > RATIO_EXEMPT_BYTES && inflatedBytes > compressedBytes * MAX_INFLATION_RATIO)
        throw new UnusableBodyError(
          `it inflates more than ${MAX_INFLATION_RATIO}-fold (${formatByteSize(compressedBytes)} to ${formatByteSize(inflatedBytes)} and more)`,
        );
      yield chunk;
    }
    if (cut) throw cut.error;
  } catch (error) {
    const isEncodingError =
      error instanceof Error && 'code' in error && /^(Z_|ERR_BROTLI|ERR__)/.test(String(error.code));
    throw isEncodingError ? new UnusableBodyError(`it is not valid ${encoding}: ${error.message}`) : error;
  }
}

async function createDecompressor(encoding: string): Promise<Transform> {
  const { constants, createBrotliDecompress, createGunzip, createInflate } = await import('node:zlib');
  // The decompressor accepts a body that was cut: its text shows whether it is complete.
  const untilCut = { finishFlush: constants.Z_SYNC_FLUSH };
  if (encoding === 'gzip' || encoding === 'x-gzip') return createGunzip(untilCut);
  if (encoding === 'deflate') return createInflate(untilCut);
  if (encoding === 'br') return createBrotliDecompress({ finishFlush: constants.BROTLI_OPERATION_FLUSH });
  throw new UnusableBodyError(`it is encoded as ${encoding}, which svc did not ask for`);
}
