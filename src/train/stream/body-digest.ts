import { createHash } from 'node:crypto';
import { InvalidTextError } from './invalid-text-error.ts';
import { changedFileFailure } from './text-source.ts';

/** How much a body is, and the SHA-256 of it in hexadecimal digits. */
export interface BodyDigest {
  readonly bytes: number;
  readonly digest: string;
}

/** Measures bytes that pass, to their end. `told` is told how many have passed. */
export async function digestChunks(
  chunks: AsyncIterable<Uint8Array>,
  onBytes: (bytes: number) => void,
): Promise<BodyDigest> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of chunks) {
    hash.update(chunk);
    bytes += chunk.length;
    onBytes(bytes);
  }
  return { bytes, digest: hash.digest('hex') };
}

/**
 * The same bytes, the last of them only when `end` has agreed to what they measure: until then a body is not complete,
 * and nothing is applied.
 */
export async function* withholdLastChunk(
  chunks: AsyncIterable<Uint8Array>,
  onDigest: (bodyDigest: BodyDigest) => Promise<void>,
): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256');
  let bytes = 0;
  let last: Uint8Array | undefined;
  for await (const chunk of chunks) {
    if (chunk.length === 0) continue;
    if (last) yield last;
    hash.update(chunk);
    bytes += chunk.length;
    last = chunk;
  }
  await onDigest({ bytes, digest: hash.digest('hex') });
  if (last) yield last;
}

/** The bytes that were measured, once more. Throws Failure `local` before the last of them where they are others now. */
export function requireSameDigest(
  chunks: AsyncIterable<Uint8Array>,
  { bytes, digest }: BodyDigest,
  label: string,
): AsyncGenerator<Uint8Array> {
  return withholdLastChunk(requireMaxBytes(chunks, bytes, label), async (actual) => {
    if (actual.bytes !== bytes || actual.digest !== digest) throw changedFileFailure(label);
  });
}

// What can no longer be read as it was, or is longer by now, was changed as well.
async function* requireMaxBytes(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
  label: string,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  try {
    for await (const chunk of chunks) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw changedFileFailure(label);
      yield chunk;
    }
  } catch (error) {
    throw error instanceof InvalidTextError ? changedFileFailure(label) : error;
  }
}
