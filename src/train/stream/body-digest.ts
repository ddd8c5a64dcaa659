import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
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

/** A digest, and the CRC-32 by which a second reading is compared: a third of the time of another digest. */
export interface CheckedDigest extends BodyDigest {
  readonly checksum: number;
}

/** Reads all chunks and returns their digest; `onBytes` gets the number of bytes so far. */
export async function digestChunks(
  chunks: AsyncIterable<Uint8Array>,
  onBytes: (bytes: number) => void,
): Promise<CheckedDigest> {
  const hash = createHash('sha256');
  let bytes = 0;
  let checksum = 0;
  for await (const chunk of chunks) {
    hash.update(chunk);
    checksum = crc32(chunk, checksum);
    bytes += chunk.length;
    onBytes(bytes);
  }
  return { bytes, digest: hash.digest('hex'), checksum };
}

/**
 * The same chunks. Throws Failure `local` before the last one if their length or CRC-32 differs: until then the body is
 * incomplete, and the service applies nothing.
 */
export async function* requireUnchanged(
  chunks: AsyncIterable<Uint8Array>,
  expected: CheckedDigest,
  label: string,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  let checksum = 0;
  let last: Uint8Array | undefined;
  for await (const chunk of requireMaxBytes(chunks, expected.bytes, label)) {
    if (chunk.length === 0) continue;
    if (last) yield last;
    bytes += chunk.length;
    checksum = crc32(chunk, checksum);
    last = chunk;
  }
  if (bytes !== expected.bytes || checksum !== expected.checksum) throw changedFileFailure(label);
  if (last) yield last;
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
