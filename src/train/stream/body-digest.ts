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

/** Computes the digest of a body from its chunks. */
export interface BodyHash {
  readonly update: (chunk: Uint8Array) => void;
  readonly digest: () => BodyDigest;
}

/** The hash of no bytes yet. */
export function createBodyHash(): BodyHash {
  const hash = createHash('sha256');
  let bytes = 0;
  return {
    update: (chunk) => {
      hash.update(chunk);
      bytes += chunk.length;
    },
    digest: () => ({ bytes, digest: hash.digest('hex') }),
  };
}

/** Reads all chunks and returns their digest; `onBytes` gets the number of bytes so far. */
export async function digestChunks(
  chunks: AsyncIterable<Uint8Array>,
  onBytes: (bytes: number) => void,
): Promise<CheckedDigest> {
  const hash = createBodyHash();
  let bytes = 0;
  let checksum = 0;
  for await (const chunk of chunks) {
    hash.update(chunk);
    checksum = crc32(chunk, checksum);
    bytes += chunk.length;
    onBytes(bytes);
  }
  return { ...hash.digest(), checksum };
}

/**
 * The same chunks, each after `onChunk`, but the last one only after `onEnd`, which follows every `onChunk`: until then the
 * body is incomplete, and the service applies nothing.
 */
export async function* withholdLastChunk(
  chunks: AsyncIterable<Uint8Array>,
  onChunk: (chunk: Uint8Array) => void,
  onEnd: () => Promise<void> | void,
): AsyncGenerator<Uint8Array> {
  let last: Uint8Array | undefined;
  for await (const chunk of chunks) {
    if (chunk.length === 0) continue;
    if (last) yield last;
    onChunk(chunk);
    last = chunk;
  }
  await onEnd();
  if (last) yield last;
}

/** The same chunks. Throws Failure `local` before the last one if their length or CRC-32 differs. */
export function requireUnchanged(
  chunks: AsyncIterable<Uint8Array>,
  expected: CheckedDigest,
  label: string,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  let checksum = 0;
  return withholdLastChunk(
    requireMaxBytes(chunks, expected.bytes, label),
    (chunk) => {
      bytes += chunk.length;
      checksum = crc32(chunk, checksum);
    },
    () => {
      if (bytes !== expected.bytes || checksum !== expected.checksum) throw changedFileFailure(label);
    },
  );
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
