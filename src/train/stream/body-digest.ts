import { createHash } from 'node:crypto';
import { InvalidTextError } from './invalid-text-error.ts';
import { changedFileFailure } from './text-source.ts';

/** The size of a body, and its SHA-256 in hexadecimal. */
export interface BodyDigest {
  readonly bytes: number;
  readonly digest: string;
}

/** The digest of a body that is in memory. */
export function digestBytes(bytes: Uint8Array): BodyDigest {
  return { bytes: bytes.length, digest: createHash('sha256').update(bytes).digest('hex') };
}

/** Reads all chunks and returns their digest; `onBytes` gets the number of bytes so far. */
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
 * The same chunks, but the last one only after `onDigest` has accepted the digest: until then the body is incomplete, and
 * the service applies nothing.
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

/** The same chunks. Throws Failure `local` before the last one if their digest differs. */
export function requireSameDigest(
  chunks: AsyncIterable<Uint8Array>,
  { bytes, digest }: BodyDigest,
  label: string,
): AsyncGenerator<Uint8Array> {
  return withholdLastChunk(requireMaxBytes(chunks, bytes, label), async (actual) => {
    if (actual.bytes !== bytes || actual.digest !== digest) throw changedFileFailure(label);
  });
}

// A file that is longer or no longer valid was changed, too.
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
