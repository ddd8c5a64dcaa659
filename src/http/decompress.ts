import { pipeline, Readable, type Transform } from 'node:stream';
import { UnusableBodyError } from './collect-body.ts';
import { getHeader, type Response } from './message.ts';
import { observeChunks } from './observe-chunks.ts';

// A small body may have any ratio; a long one with this ratio is an attack.
const RATIO_EXEMPT_BYTES = 8 * 1024 * 1024;
const MAX_INFLATION_RATIO = 200;

/**
 * A response with its body decompressed as it arrives, although svc does not ask for compression. Reading it throws
 * UnusableBodyError if it is in another encoding, broken, or inflates more than 200-fold.
 */
export function decompressResponse(response: Response): Response {
  const encoding = getHeader(response.headers, 'content-encoding')?.trim().toLowerCase() ?? '';
  return encoding === '' || encoding === 'identity'
    ? response
    : { ...response, body: decompressBody(response.body, encoding), completeBody: undefined };
}

async function* decompressBody(body: AsyncIterable<Uint8Array>, encoding: string): AsyncGenerator<Uint8Array> {
  const decompressor = await createDecompressor(encoding);
  let compressedBytes = 0;
  let inflatedBytes = 0;
  const compressed = observeChunks(body, (chunk) => {
    compressedBytes += chunk.length;
  });
  // Errors come out of the last stream; pipeline requires a callback.
  const inflated: AsyncIterable<Uint8Array> = pipeline(Readable.from(compressed), decompressor, () => {});
  try {
    for await (const chunk of inflated) {
      inflatedBytes += chunk.length;
      if (inflatedBytes > RATIO_EXEMPT_BYTES && inflatedBytes > compressedBytes * MAX_INFLATION_RATIO)
        throw new UnusableBodyError(
          `it inflates more than ${MAX_INFLATION_RATIO}-fold (${compressedBytes} bytes to ${inflatedBytes} and more)`,
        );
      yield chunk;
    }
  } catch (error) {
    const isEncodingError =
      error instanceof Error && 'code' in error && /^(Z_|ERR_BROTLI|ERR__)/.test(String(error.code));
    throw isEncodingError ? new UnusableBodyError(`it is not valid ${encoding}: ${error.message}`) : error;
  }
}

async function createDecompressor(encoding: string): Promise<Transform> {
  const { createBrotliDecompress, createGunzip, createInflate } = await import('node:zlib');
  if (encoding === 'gzip' || encoding === 'x-gzip') return createGunzip();
  if (encoding === 'deflate') return createInflate();
  if (encoding === 'br') return createBrotliDecompress();
  throw new UnusableBodyError(`it is encoded as ${encoding}, which svc did not ask for`);
}
