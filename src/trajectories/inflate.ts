import { pipeline, Readable, type Transform } from 'node:stream';
import { Failure } from '../errors.ts';
import { fileReason } from '../files/reason.ts';

export type Packing = 'gzip' | 'zstd';

/** How a text is compressed, as its first four bytes tell. */
export function packingOf(start: Uint8Array): Packing | undefined {
  const [first, second, third, fourth] = start;
  if (first === 0x1f && second === 0x8b) return 'gzip';
  return first === 0x28 && second === 0xb5 && third === 0x2f && fourth === 0xfd ? 'zstd' : undefined;
}

/** The text that compressed bytes are. Throws Failure `local` where they are broken, or this Node cannot read them. */
export async function* inflated(
  pieces: AsyncIterable<Uint8Array>,
  packing: Packing,
  label: string,
): AsyncGenerator<Uint8Array> {
  const decoder = await decoderFor(packing, label);
  const text: AsyncIterable<Uint8Array> = pipeline(Readable.from(pieces), decoder, () => {});
  try {
    yield* text;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && /^(Z_|ZSTD_|ERR_)/.test(String(error.code)))) throw error;
    throw new Failure('local', `cannot read ${label}: it is broken ${packing}: ${fileReason(error)}`, {
      applied: 'no',
    });
  }
}

const CHUNK = 128 * 1024;

async function decoderFor(packing: Packing, label: string): Promise<Transform> {
  const zlib = await import('node:zlib');
  if (packing === 'gzip') return zlib.createGunzip({ chunkSize: CHUNK });
  // Older releases of Node do not have it.
  if ('createZstdDecompress' in zlib && typeof zlib.createZstdDecompress === 'function')
    return zlib.createZstdDecompress({ chunkSize: CHUNK });
  throw new Failure('local', `cannot read ${label}: this Node cannot read zstd`, {
    hint: `Node 22.15 and later can; or: zstd -dc ${label} | svc train -`,
    applied: 'no',
  });
}
