import { pipeline, Readable, type Transform } from 'node:stream';
import { Failure } from '../../errors.ts';
import { fileFailure } from '../../files/file-errors.ts';

export type Compression = 'gzip' | 'zstd';

/** The compression of a text, determined by its first four bytes. */
export function detectCompression(start: Uint8Array): Compression | undefined {
  const [first, second, third, fourth] = start;
  if (first === 0x1f && second === 0x8b) return 'gzip';
  return first === 0x28 && second === 0xb5 && third === 0x2f && fourth === 0xfd ? 'zstd' : undefined;
}

/** The text that compressed bytes are. Throws Failure `local` if they are broken, or this Node cannot read them. */
export async function* decompressChunks(
  chunks: AsyncIterable<Uint8Array>,
  compression: Compression,
  label: string,
): AsyncGenerator<Uint8Array> {
  const decoder = await createDecoder(compression, label);
  const decompressed: AsyncIterable<Uint8Array> = pipeline(Readable.from(chunks), decoder, () => {});
  try {
    yield* decompressed;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && /^(Z_|ZSTD_|ERR_)/.test(String(error.code)))) throw error;
    throw fileFailure(`read ${label}: it is not valid ${compression}`, error, {
      applied: 'no',
    });
  }
}

const DECODER_CHUNK_BYTES = 128 * 1024;

async function createDecoder(compression: Compression, label: string): Promise<Transform> {
  const zlib = await import('node:zlib');
  if (compression === 'gzip') return zlib.createGunzip({ chunkSize: DECODER_CHUNK_BYTES });
  // Older releases of Node do not have it.
  if ('createZstdDecompress' in zlib && typeof zlib.createZstdDecompress === 'function')
    return zlib.createZstdDecompress({ chunkSize: DECODER_CHUNK_BYTES });
  throw new Failure('local', `cannot read ${label}: this Node cannot read zstd`, {
    hint: `Node 22.15 and later can; or: zstd -dc ${label} | svc train -`,
    applied: 'no',
  });
}
