import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Context } from '../../context.ts';
import { type JsonDocument, kindOf, membersOf, rootOf, startOffset } from '../../json/json-node.ts';
import { formatTransfer } from '../../output/transfer-text.ts';
import { changedFileFailure, type TextSource } from './source.ts';

/** Splits a body at its empty group arrays, where the groups go: one part more than there are arrays. */
export function splitAtGroupArrays(doc: JsonDocument): readonly Buffer[] {
  const parts: Buffer[] = [];
  let start = 0;
  for (const { key, value } of membersOf(rootOf(doc))) {
    if (key !== 'trajectory_groups' || kindOf(value) !== 'list') continue;
    const inside = startOffset(value) + 1;
    parts.push(doc.bytes.subarray(start, inside));
    start = inside;
  }
  return [...parts, doc.bytes.subarray(start)];
}

export async function* assembleBody(
  parts: readonly Uint8Array[],
  readArray: (number: number) => AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  for (const [at, part] of parts.entries()) {
    if (at > 0) yield* readArray(at - 1);
    if (part.length > 0) yield part;
  }
}

/** The size of a body, and its SHA-256 in hexadecimal. */
export interface BodyDigest {
  readonly bytes: number;
  readonly digest: string;
}

export function digestBytes(bytes: Uint8Array): BodyDigest {
  return { bytes: bytes.length, digest: createHash('sha256').update(bytes).digest('hex') };
}

/** A digest, and the CRC-32 by which a second reading is compared: a third of the time of another digest. */
export interface CheckedDigest extends BodyDigest {
  readonly checksum: number;
}

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

/** The same chunks. Throws Failure `local_file` before the last one, when nothing was applied, if their CRC-32 differs. */
export async function* requireUnchanged(
  chunks: AsyncIterable<Uint8Array>,
  checksum: number,
  label: string,
): AsyncGenerator<Uint8Array> {
  let actual = 0;
  let last: Uint8Array | undefined;
  for await (const chunk of chunks) {
    if (last) yield last;
    actual = crc32(chunk, actual);
    last = chunk;
  }
  if (actual !== checksum) throw changedFileFailure(label);
  if (last) yield last;
}

/** Shows the progress of the first reading; `onBytes` takes the bytes so far, and throws if the process was asked to end. */
export function showCheckProgress(
  sources: readonly Pick<TextSource, 'size'>[],
  { runtime, signal, startSpinner }: Context,
  groupCount?: () => number,
): { readonly onBytes: (bytes: number) => void; readonly end: () => void } {
  const start = runtime.elapsed();
  const sizes = sources.map(({ size }) => size);
  const total = sizes.reduce((sum, size) => (sum === undefined || size === undefined ? undefined : sum + size), 0);
  let bytes = 0;
  const end = startSpinner(() => {
    if (bytes === 0) return '';
    const transfer = formatTransfer('checking', { bytes, total, elapsedMs: runtime.elapsed() - start });
    return groupCount ? `${transfer}, ${groupCount()} groups` : transfer;
  });
  return {
    end,
    onBytes: (readBytes) => {
      signal.throwIfAborted();
      bytes = readBytes;
    },
  };
}

const BATCH_CHUNK_BYTES = 128 * 1024;

/** The buffer that is filled, the one that was yielded last and may be withheld, and 512 KiB after it. */
export const SENDABLE_BUFFERS = 6;

// A socket asks its writer to wait after as much, and continues when all of it is written.
const MIN_PASSED_BYTES = 64 * 1024;

/**
 * Combines small chunks in buffers that it reuses in turn, and passes large ones on as they are. With SENDABLE_BUFFERS, a socket has
 * written a combined chunk by then.
 */
export function createChunkBatcher(bufferCount = 1): (chunks: Iterable<Uint8Array>) => Generator<Uint8Array> {
  const buffers: Buffer[] = [];
  let current = 0;
  // The offsets in the current buffer up to which it was yielded, and filled.
  let flushedBytes = 0;
  let filledBytes = 0;
  const currentBuffer = (): Buffer => (buffers[current] ??= Buffer.allocUnsafeSlow(BATCH_CHUNK_BYTES));
  const flush = function* (): Generator<Uint8Array> {
    if (filledBytes > flushedBytes) yield currentBuffer().subarray(flushedBytes, filledBytes);
    flushedBytes = filledBytes;
  };
  return function* (chunks) {
    for (const chunk of chunks) {
      if (chunk.length >= MIN_PASSED_BYTES) {
        yield* flush();
        yield chunk;
        continue;
      }
      if (filledBytes + chunk.length > BATCH_CHUNK_BYTES) {
        yield* flush();
        current = (current + 1) % bufferCount;
        flushedBytes = 0;
        filledBytes = 0;
      }
      currentBuffer().set(chunk, filledBytes);
      filledBytes += chunk.length;
    }
    yield* flush();
  };
}
