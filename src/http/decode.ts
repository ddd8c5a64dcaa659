import { pipeline, Readable, type Transform } from 'node:stream';
import { Unusable } from './collect.ts';
import { header, type Layer } from './message.ts';

// What is not harmful at any ratio, and the ratio that no honest text of some length has.
const HARMLESS = 8 * 1024 * 1024;
const RATIO = 200;

/**
 * Decodes answers that come compressed although nobody asked for it, as they arrive. Throws Unusable while one is read
 * that is in another encoding, broken, or inflates more than 200-fold.
 */
export const withDecoding: Layer = (next) => async (request) => {
  const reply = await next(request);
  const encoding = header(reply.headers, 'content-encoding')?.trim().toLowerCase() ?? '';
  return encoding === '' || encoding === 'identity'
    ? reply
    : { ...reply, body: decoded(reply.body, encoding), whole: undefined };
};

async function* decoded(body: AsyncIterable<Uint8Array>, encoding: string): AsyncGenerator<Uint8Array> {
  const decoder = await decoderFor(encoding);
  let packed = 0;
  let length = 0;
  const counted = async function* (): AsyncGenerator<Uint8Array> {
    for await (const piece of body) {
      packed += piece.length;
      yield piece;
    }
  };
  // Errors come out of the last stream; the callback is there because pipeline wants one.
  const inflated: AsyncIterable<Uint8Array> = pipeline(Readable.from(counted()), decoder, () => {});
  try {
    for await (const piece of inflated) {
      length += piece.length;
      if (length > HARMLESS && length > packed * RATIO)
        throw new Unusable(`the answer inflates more than ${RATIO}-fold (${packed} bytes to ${length} and more)`);
      yield piece;
    }
  } catch (error) {
    const isOfEncoding = error instanceof Error && 'code' in error && /^(Z_|ERR_BROTLI|ERR__)/.test(String(error.code));
    throw isOfEncoding ? new Unusable(`the answer is no valid ${encoding}: ${error.message}`) : error;
  }
}

async function decoderFor(encoding: string): Promise<Transform> {
  const { createBrotliDecompress, createGunzip, createInflate } = await import('node:zlib');
  switch (encoding) {
    case 'gzip':
    case 'x-gzip':
      return createGunzip();
    case 'deflate':
      return createInflate();
    case 'br':
      return createBrotliDecompress();
    default:
      throw new Unusable(`the answer is encoded as ${encoding}, which nobody asked for`);
  }
}
