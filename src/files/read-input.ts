import { Buffer } from 'node:buffer';
import { close, constants, createReadStream, fstat, open } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { Failure, InterruptedError } from '../errors.ts';
import { formatByteSize } from './byte-size.ts';
import { fileFailure } from './file-errors.ts';

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

/** Most bytes of an input that is held in memory; servers accept at most 32 MiB (docs/internals/servers.md). */
export const MAX_INPUT_BYTES = 128 * 1024 * 1024;

/** All bytes of a file or device, or of a FIFO once its writer came. Throws Failure `local_file` and the signal's reason. */
export async function readInputFile(
  path: string,
  displayPath: string,
  { signal, maxBytes }: { readonly signal: AbortSignal; readonly maxBytes: number },
): Promise<Buffer> {
  const { stream, size = 0 } = await openInputFile(path, displayPath, signal);
  return collectInput(stream, displayPath, maxBytes, size);
}

/**
 * Opens a file, a FIFO or a device without ever blocking a thread. Throws Failure `local_file`; the stream fails with the
 * signal's reason, or the system's error; destroy it to close the input. The size is undefined for FIFOs and devices.
 */
export async function openInputFile(
  path: string,
  displayPath: string,
  signal: AbortSignal,
): Promise<{ readonly stream: Readable; readonly size: number | undefined }> {
  signal.throwIfAborted();
  try {
    const fd = await promisify(open)(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    try {
      const stats = await promisify(fstat)(fd);
      if (stats.isDirectory()) throw Object.assign(new Error('directory'), { code: 'EISDIR' });
      const device = stats.isFile() ? undefined : { ...(await import('node:net')), ...(await import('node:tty')) };
      // No wait from here on: an abort before the listener exists would be missed.
      signal.throwIfAborted();
      // A socket waits for the writer of a FIFO in the event loop; reading the file would return its end at once.
      const socket = device && stats.isFIFO() && new device.Socket({ fd, readable: true, writable: false });
      const terminal = device?.isatty(fd) && new device.ReadStream(fd);
      const stream = socket || terminal || createReadStream('', { fd });
      const stop = (): void => void stream.destroy(signal.reason);
      signal.addEventListener('abort', stop, { once: true });
      stream.once('close', () => signal.removeEventListener('abort', stop));
      return { stream, size: stats.isFile() ? stats.size : undefined };
    } catch (error) {
      await promisify(close)(fd);
      throw error;
    }
  } catch (error) {
    throw unreadableInputFailure(displayPath, error);
  }
}

/** Collects a stream into one buffer. Throws Failure `local_file` beyond `maxBytes` and for errors of the stream. */
export async function collectInput(
  stream: AsyncIterable<Uint8Array>,
  displayPath: string,
  maxBytes: number,
  expectedBytes = 0,
): Promise<Buffer> {
  const reason = `it has more than ${formatByteSize(maxBytes)}, the limit for this input`;
  const tooLarge = (): Failure => new Failure('local_file', `cannot read ${displayPath}: ${reason}`);
  if (expectedBytes > maxBytes) throw tooLarge();
  try {
    return await collectChunks(stream, expectedBytes || FIRST_BUFFER_BYTES, maxBytes, tooLarge);
  } catch (error) {
    throw unreadableInputFailure(displayPath, error);
  }
}

/** The failure of an input; one that is a Failure, or a request to end the process, stays as it is. */
export function unreadableInputFailure(displayPath: string, error: unknown): unknown {
  if (error instanceof Failure || error instanceof InterruptedError) return error;
  return fileFailure('read', displayPath, error);
}

const FIRST_BUFFER_BYTES = 64 * 1024;

/** The start of a text, of at least so many bytes unless it is shorter, and all of its chunks, of which the start is the first. */
export async function peekStart(chunks: AsyncIterable<Uint8Array>, minBytes: number) {
  const rest = chunks[Symbol.asyncIterator]();
  let start = Buffer.alloc(0);
  while (start.length < minBytes) {
    const { done, value } = await rest.next();
    if (done) break;
    start = Buffer.concat([start, value]);
  }
  return { start, chunks: prependChunk<Uint8Array>(start, rest) };
}

/** By the first four bytes. */
export function detectCompression(start: Uint8Array): 'gzip' | 'zstd' | undefined {
  const [first, second, third, fourth] = start;
  if (first === 0x1f && second === 0x8b) return 'gzip';
  return first === 0x28 && second === 0xb5 && third === 0x2f && fourth === 0xfd ? 'zstd' : undefined;
}

export async function* prependChunk<T>(chunk: T, rest: AsyncIterator<T>): AsyncGenerator<T> {
  try {
    yield chunk;
    yield* { [Symbol.asyncIterator]: () => rest };
  } finally {
    await rest.return?.();
  }
}

/** Up to `length` bytes from a position, less at the end of the file; in `buffer`, if there is one. Throws system errors. */
export async function readAt(
  file: FileHandle,
  position: number,
  length: number,
  buffer = Buffer.allocUnsafe(length),
): Promise<Buffer> {
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await file.read(buffer, filled, length - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}

/**
 * The chunks of a file between two positions, or to its end. The next one is read while the caller works on one, which is valid
 * until as many chunks after it as there are buffers, less one. Throws system errors.
 */
export async function* readRange(
  file: FileHandle,
  start: number,
  end: number,
  chunkBytes: number,
  bufferCount = 2,
): AsyncGenerator<Buffer, undefined> {
  const buffers: Buffer<ArrayBuffer>[] = [];
  const readNext = (position: number): Promise<Buffer> => {
    const length = Math.min(chunkBytes, Math.max(0, end - position));
    const buffer = (buffers.length === bufferCount && buffers.shift()) || Buffer.allocUnsafeSlow(length);
    buffers.push(buffer);
    return readAt(file, position, length, buffer);
  };
  let next = readNext(start);
  for (let position = start; ; ) {
    const chunk = await next;
    if (chunk.length === 0) return undefined;
    position += chunk.length;
    next = readNext(position);
    // Thrown when its turn comes; the caller may stop before.
    next.catch(() => {});
    yield chunk;
  }
}
