import { Buffer } from 'node:buffer';
import { pipeline, Readable, type Transform } from 'node:stream';
import { errorMessage } from '../errors.ts';
import { formatByteSize } from '../files/byte-size.ts';
import { detectCompression, peekStart } from '../files/read-input.ts';
import { observeChunks, UnusableBodyError } from './body-chunks.ts';
import type { HttpResponse } from './message.ts';

// A small body may have any ratio; a long one with this ratio is an attack.
const RATIO_EXEMPT_BYTES = 8 * 1024 * 1024;
const MAX_INFLATION_RATIO = 200;
const MAX_ENCODINGS = 3;

const encodings = ['gzip', 'deflate', 'deflate-raw', 'br', 'zstd'] as const;

type Encoding = (typeof encodings)[number];

/**
 * Decompresses the body as it arrives, by what its bytes are; `Content-Encoding` decides only what bytes do not show. `onNote` is
 * called if the two differ, or if the body cannot be read to its end, which then ends there. Reading throws UnusableBodyError
 * for a body that inflates too far, and what the connection throws after the last byte before a cut.
 */
export function decompressResponse(response: HttpResponse, onNote: (note: string) => void): HttpResponse {
  const { headers, body, completeBody, countInflated } = response;
  const labels = headers
    .flatMap(([name, value]) => (name.toLowerCase() === 'content-encoding' ? value.toLowerCase().split(',') : []))
    .map((label) => label.trim())
    .filter((label) => label !== '' && label !== 'identity');
  if (labels.length === 0 && completeBody && !encodingOf(completeBody, undefined)) return response;
  return { ...response, body: decodeBody(body, labels, onNote, countInflated), completeBody: undefined };
}

async function* decodeBody(
  body: AsyncIterable<Uint8Array>,
  labels: readonly string[],
  onNote: (note: string) => void,
  countInflated: HttpResponse['countInflated'],
) {
  const received = { bytes: 0 };
  const expected = labels.flatMap((label) => encodings.find((one) => one === label.replace(/^x-/, '')) ?? []);
  const undone: Encoding[] = [];
  let layer = observeChunks(body, (chunk) => {
    received.bytes += chunk.length;
  });
  for (let count = 0; count < MAX_ENCODINGS; count += 1) {
    const { start, chunks } = await peekStart(layer, START_BYTES);
    layer = chunks;
    const encoding = encodingOf(start, expected.at(-1));
    const decompressor = encoding && (await createDecompressor(encoding));
    if (encoding && !decompressor)
      onNote(`the response is encoded as ${encoding}, which this version of Node cannot read`);
    if (!encoding || !decompressor) break;
    layer = observeChunks(inflate(layer, encoding, decompressor, received, onNote), (chunk) =>
      countInflated?.(chunk.length),
    );
    undone.unshift(encoding);
    expected.pop();
  }
  const label = labels.join(', ');
  const found = undone.join(', ').replaceAll('deflate-raw', 'deflate');
  if (label.replaceAll('x-gzip', 'gzip') !== found && received.bytes > 0)
    onNote(
      `the response has ${label ? `Content-Encoding: ${label}` : 'no Content-Encoding'}, but its body is ${found || 'not encoded'}`,
    );
  yield* layer;
}

// Enough for what compressed data starts with.
const START_BYTES = 4;

// JSON, an event stream, or a page.
const TEXT_START = /^\s*(?:\{\s*["}]|\[|"|<|data:|event:|id:|retry:|:)/;

function encodingOf(start: Uint8Array, expected: Encoding | undefined): Encoding | undefined {
  const compression = detectCompression(start);
  if (compression) return compression;
  const [first = 0, second = 0] = start;
  if (expected !== 'br' && expected !== 'deflate') return undefined;
  if (start.length === 0 || TEXT_START.test(Buffer.from(start).toString('latin1'))) return undefined;
  if (expected === 'br') return 'br';
  // A header of zlib; some servers send the data without it.
  return (first & 0x0f) === 8 && (first * 256 + second) % 31 === 0 ? 'deflate' : 'deflate-raw';
}

async function* inflate(
  layer: AsyncIterable<Uint8Array>,
  encoding: Encoding,
  decompressor: Transform,
  received: { readonly bytes: number },
  onNote: (note: string) => void,
): AsyncGenerator<Uint8Array> {
  let inflatedBytes = 0;
  let cut: { readonly error: unknown } | undefined;
  const readCompressed = async function* (): AsyncGenerator<Uint8Array> {
    try {
      yield* layer;
    } catch (error) {
      // As an error of the stream it would overtake the bytes that are not yet inflated.
      cut = { error };
    }
  };
  const inflated: AsyncIterable<Uint8Array> = pipeline(Readable.from(readCompressed()), decompressor, () => {});
  try {
    for await (const chunk of inflated) {
      inflatedBytes += chunk.length;
      if (inflatedBytes > RATIO_EXEMPT_BYTES && inflatedBytes > received.bytes * MAX_INFLATION_RATIO)
        throw new UnusableBodyError(
          `it inflates more than ${MAX_INFLATION_RATIO}-fold (${formatByteSize(received.bytes)} to ${formatByteSize(inflatedBytes)} and more)`,
        );
      yield chunk;
    }
  } catch (error) {
    const isEncodingError =
      error instanceof Error && 'code' in error && /^(Z_|ZSTD_|ERR_BROTLI|ERR_ZSTD|ERR__)/.test(String(error.code));
    if (!isEncodingError) throw error;
    onNote(`the response is not valid ${encoding} after ${inflatedBytes} bytes: ${errorMessage(error)}`);
  }
  if (cut) throw cut.error;
}

// Undefined if Node has none for the encoding.
async function createDecompressor(encoding: Encoding): Promise<Transform | undefined> {
  const zlib = await import('node:zlib');
  const { constants } = zlib;
  // The decompressor accepts a body that was cut: its text shows whether it is complete.
  const untilCut = { finishFlush: constants.Z_SYNC_FLUSH };
  if (encoding === 'gzip') return zlib.createGunzip(untilCut);
  if (encoding === 'deflate') return zlib.createInflate(untilCut);
  if (encoding === 'deflate-raw') return zlib.createInflateRaw(untilCut);
  if (encoding === 'br') return zlib.createBrotliDecompress({ finishFlush: constants.BROTLI_OPERATION_FLUSH });
  // From Node 22.15 on.
  const create: unknown = Reflect.get(zlib, 'createZstdDecompress');
  return typeof create === 'function' ? create() : undefined;
}
