import { Buffer } from 'node:buffer';
import { formatByteSize } from '../files/byte-size.ts';
import { collectChunks } from '../files/read-input.ts';

/** A body that svc cannot read: longer than its limit, or in an unknown encoding. The message is the reason. */
export class UnusableBodyError extends Error {
  override readonly name = 'UnusableBodyError';
}

// For a body of unknown length. Only pages that are written take memory, while growing step by step would hold the body twice.
const INITIAL_BUFFER_BYTES = 32 * 1024 * 1024;

/**
 * All bytes of a body. With its length in `expectedBytes` they are held only once. Throws UnusableBodyError beyond
 * `maxBytes`, and what the connection throws if it is cut.
 */
export async function collectBody(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
  expectedBytes = 0,
): Promise<Buffer> {
  const tooLarge = (): Error => new UnusableBodyError(`it has more than ${formatByteSize(maxBytes)}`);
  return collectChunks(body, Math.min(expectedBytes || INITIAL_BUFFER_BYTES, maxBytes), maxBytes, tooLarge);
}

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
  } catch {
    // A partial error message is better than none.
  }
  return Buffer.concat(chunks).subarray(0, maxBytes);
}

/** The bytes of all chunks; a single chunk is not copied. */
export function concatChunks(chunks: readonly Buffer[]): Buffer {
  const [only] = chunks;
  return only && chunks.length === 1 ? only : Buffer.concat(chunks);
}
