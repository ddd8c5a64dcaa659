import { Buffer } from 'node:buffer';
import { formatByteSize } from '../files/byte-size.ts';
import { collectChunks } from '../files/read-input.ts';

/** A body that svc cannot read: longer than its limit, or in an unknown encoding. The message is the reason. */
export class UnusableBodyError extends Error {
  override readonly name = 'UnusableBodyError';
}

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
