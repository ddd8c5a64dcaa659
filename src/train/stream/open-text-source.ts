import { Buffer } from 'node:buffer';
import { open, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Failure } from '../../errors.ts';
import { openInputFile, prependChunk } from '../../files/read-input.ts';
import { copyChunks } from './chunk-batcher.ts';
import { decompressChunks, detectCompression } from './decompress.ts';
import type { Spool } from './spool.ts';
import { createFileSource, type TextSource, unreadableFileFailure } from './text-source.ts';

/** The dependencies of opening a source. */
export interface TextSourceOptions {
  readonly cwd: string;
  /** All of stdin, once. */
  readonly stdin: () => AsyncIterable<Uint8Array>;
  /** Copies input that can be read only once; undefined if nothing is read again. */
  readonly spool: Spool | undefined;
  /** Ends the reading of pipes and devices, also while one waits for its writer. */
  readonly signal: AbortSignal;
}

/**
 * Opens a path; `-` is stdin. Pipes, devices and compressed files are copied to the spool while they are first read. Throws
 * Failure `local` if the path cannot be read.
 */
export async function openTextSource(
  path: string,
  { cwd, stdin, spool, signal }: TextSourceOptions,
): Promise<TextSource> {
  if (path === '-') return singlePassSource(() => decompressIfNeeded(stdin(), 'stdin'), 'stdin', spool);
  const absolutePath = resolve(cwd, path);
  const throwUnreadable = (error: unknown): never => {
    throw unreadableFileFailure(path, error);
  };
  const found = await stat(absolutePath).catch(throwUnreadable);
  if (found.isDirectory()) throw new Failure('local', `cannot read ${path}: it is a directory`);
  if (!found.isFile()) {
    // Opened once: the writer of a pipe would see it closed.
    const { stream } = await openInputFile(absolutePath, path, signal);
    return singlePassSource(() => decompressIfNeeded(stream, path), path, spool);
  }
  const handle = await open(absolutePath).catch(throwUnreadable);
  try {
    const start = Buffer.alloc(4);
    await handle.read(start, 0, start.length, 0).catch(throwUnreadable);
    const source = await createFileSource(absolutePath, path, handle);
    const compression = detectCompression(start);
    return compression
      ? singlePassSource(() => decompressChunks(copyChunks(source.readFirst()), compression, path), path, spool)
      : source;
  } finally {
    await handle.close();
  }
}

function singlePassSource(
  readChunks: () => AsyncIterable<Uint8Array>,
  label: string,
  spool: Spool | undefined,
): TextSource {
  if (spool) return spool.spoolSource(readChunks, label);
  const doNothing = async (): Promise<void> => {};
  const readAgain = (): never => {
    throw new Error(`svc has no copy of ${label}`);
  };
  return { label, size: undefined, readFirst: readChunks, readAgain, verifyUnchanged: doNothing, close: doNothing };
}

// The first bytes show whether the input is compressed.
async function* decompressIfNeeded(chunks: AsyncIterable<Uint8Array>, label: string): AsyncGenerator<Uint8Array> {
  const rest = chunks[Symbol.asyncIterator]();
  let start = Buffer.alloc(0);
  while (start.length < 4) {
    const { value, done } = await rest.next();
    if (done) break;
    start = Buffer.concat([start, value]);
  }
  const compression = detectCompression(start);
  const text = prependChunk(start, rest);
  yield* compression ? decompressChunks(text, compression, label) : text;
}
