import { Buffer } from 'node:buffer';

/** All chunks in one buffer, which grows from `initialBytes`. Throws the error of `tooLarge` beyond `maxBytes`. */
export async function collectChunks(
  chunks: AsyncIterable<Uint8Array>,
  initialBytes: number,
  maxBytes: number,
  tooLarge: () => Error,
): Promise<Buffer> {
  let bytes: Buffer = Buffer.allocUnsafe(initialBytes);
  let length = 0;
  for await (const chunk of chunks) {
    const needed = length + chunk.length;
    if (needed > maxBytes) throw tooLarge();
    if (needed > bytes.length) {
      const smaller = bytes.subarray(0, length);
      bytes = Buffer.allocUnsafe(Math.min(maxBytes, Math.max(needed, bytes.length * 2)));
      bytes.set(smaller);
    }
    bytes.set(chunk, length);
    length = needed;
  }
  return bytes.subarray(0, length);
}
