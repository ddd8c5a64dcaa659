import { createHash } from 'node:crypto';
import { changed } from './source.ts';
import { UnreadableText } from './unreadable-text.ts';

/** How much a body is, and the SHA-256 of it in hexadecimal digits. */
export interface Measure {
  readonly bytes: number;
  readonly digest: string;
}

/** Measures bytes that pass, to their end. `told` is told how many have passed. */
export async function measure(pieces: AsyncIterable<Uint8Array>, told: (bytes: number) => void): Promise<Measure> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const piece of pieces) {
    hash.update(piece);
    bytes += piece.length;
    told(bytes);
  }
  return { bytes, digest: hash.digest('hex') };
}

/**
 * The same bytes, the last of them only when `end` has agreed to what they measure: until then a body is not complete,
 * and nothing is applied.
 */
export async function* withheld(
  pieces: AsyncIterable<Uint8Array>,
  end: (measure: Measure) => Promise<void>,
): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256');
  let bytes = 0;
  let last: Uint8Array | undefined;
  for await (const piece of pieces) {
    if (piece.length === 0) continue;
    if (last) yield last;
    hash.update(piece);
    bytes += piece.length;
    last = piece;
  }
  await end({ bytes, digest: hash.digest('hex') });
  if (last) yield last;
}

/** The bytes that were measured, once more. Throws Failure `local` before the last of them where they are others now. */
export function unchanged(
  pieces: AsyncIterable<Uint8Array>,
  { bytes, digest }: Measure,
  label: string,
): AsyncGenerator<Uint8Array> {
  return withheld(asExpected(pieces, bytes, label), async (now) => {
    if (now.bytes !== bytes || now.digest !== digest) throw changed(label);
  });
}

// What can no longer be read as it was, or is longer by now, was changed as well.
async function* asExpected(pieces: AsyncIterable<Uint8Array>, most: number, label: string): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  try {
    for await (const piece of pieces) {
      bytes += piece.length;
      if (bytes > most) throw changed(label);
      yield piece;
    }
  } catch (error) {
    throw error instanceof UnreadableText ? changed(label) : error;
  }
}
