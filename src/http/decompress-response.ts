import { pipeline, Readable, type Transform } from 'node:stream';
import { formatByteSize } from '../files/byte-size.ts';
import { getHeader, type HttpResponse } from './message.ts';
import { UnusableBodyError } from './size-limits.ts';

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
