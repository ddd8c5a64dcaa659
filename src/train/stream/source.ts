import { Buffer } from 'node:buffer';
import type { Stats } from 'node:fs';
import { type FileHandle, open, readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pipeline, Readable, type Transform } from 'node:stream';
import { bodyFormat } from '../../body/body-flags.ts';
import { limitInputTime, readStdinChunks } from '../../body/input-reader.ts';
import type { Context } from '../../context.ts';
import { Failure, usageFailure } from '../../errors.ts';
import { fileFailure } from '../../files/file-errors.ts';
import { openSpool } from '../../files/file-replacement.ts';
import { foreignFormat } from '../../files/foreign-formats.ts';
import { detectCompression, openInputFile, peekStart, readRange } from '../../files/read-input.ts';
import { collectBodyStart } from '../../http/body-chunks.ts';
import { noDeadline } from '../../http/time-limits.ts';

export interface TextSource {
  readonly label: string;
  /** Bytes, if known; those of stdin, a pipe or compressed input once all was read. */
  readonly size: number | undefined;
  /** The whole text, for the first time; a chunk is valid until the next one. Throws Failure `local_file`. */
  readonly readFirst: () => AsyncIterable<Uint8Array>;
  /** A range of bytes, or the whole text, after the first time. Throws also if the text became shorter. */
  readonly readAgain: (start?: number, end?: number) => AsyncIterable<Uint8Array>;
  /** Throws Failure `local_file` if the size, modification time or inode of a file changed since it was opened. */
  readonly verifyUnchanged: () => Promise<void>;
  readonly close: () => Promise<void>;
}

export type TrajectorySources = ReturnType<typeof createTrajectorySources>;

/**
 * Input that can be read only once (pipes, devices and compressed files) is copied to an unnamed file in `spoolDirectory` while it
 * is first read; without a directory it cannot be read again. Throws Failure `local_file`, and `body` for a YAML file.
 */
export function createTrajectorySources(
  context: Context,
  spoolDirectory: string | undefined,
  deadline = noDeadline,
  maxSpoolBytes?: number,
) {
  const { runtime } = context;
  const spool = createCopies(spoolDirectory, maxSpoolBytes);
  const opened: TextSource[] = [];
  const timers: (() => void)[] = [];
  const open = async (path?: string): Promise<TextSource> => {
    const { signal, cancel } = limitInputTime(path ?? '-', context.signal, runtime, deadline);
    timers.push(cancel);
    const stdin = readStdinChunks(context, deadline, path === undefined ? 'a JSON body' : undefined);
    const isStdin = path === undefined || path === '-';
    const source = isStdin
      ? spool.add('stdin', decompressIfNeeded(stdin, 'stdin'))
      : await openFile(path, resolve(runtime.cwd, path), spool, signal);
    opened.push(source);
    const format = bodyFormat(source.label);
    if (format !== 'JSON')
      throw new Failure('body', `${source.label}: trajectories are JSON, not ${format}`, {
        hint: `convert the file to JSON; if it is a whole body, run: svc train -f ${source.label}`,
      });
    return source;
  };
  return {
    /** Opens a file; stdin for `-` or without a path. */
    open,
    openAll: async (paths: readonly string[]): Promise<readonly TextSource[]> => {
      const files = await Promise.all(paths.map((path) => expandDirectory(path, runtime.cwd)));
      const sources: TextSource[] = [];
      const names = files.flat().map((file) => (file === '-' ? file : resolve(runtime.cwd, file)));
      const twice = files.flat().find((_, at) => names.indexOf(names[at] ?? '') < at);
      if (twice !== undefined) throw usageFailure(`${twice} is given twice`, 'name each file once');
      for (const file of files.flat()) sources.push(await open(file));
      return sources;
    },
    close: async (): Promise<void> => {
      for (const cancel of timers) cancel();
      for (const source of opened) await source.close();
      await spool.close();
    },
  };
}

async function openFile(path: string, absolutePath: string, spool: Spool, signal: AbortSignal): Promise<TextSource> {
  const found = await stat(absolutePath).catch(throwUnreadable(path));
  // Opened once: the writer of a pipe would see it closed.
  const { stream, size } = await openInputFile(absolutePath, path, signal);
  if (size === undefined) return spool.add(path, decompressIfNeeded(stream, path));
  const source = createFileSource(absolutePath, path, found);
  const compression = readFormat(await collectBodyStart(stream, HEAD_BYTES), path);
  return compression ? spool.add(path, decompressChunks(copyChunks(source.readFirst()), compression, path)) : source;
}

function createFileSource(path: string, label: string, { size, mtimeMs, ino }: Stats): TextSource {
  // Many ranges are read again, so their handle stays open; otherwise a file is open only while it is read.
  let heldHandle: FileHandle | undefined;
  const readAll = async function* (): AsyncGenerator<Uint8Array> {
    const handle = await open(path).catch(throwUnreadable(label));
    try {
      yield* readByteRange(handle, 0, size, label);
    } finally {
      await handle.close();
    }
  };
  return {
    label,
    size,
    readFirst: readAll,
    readAgain: async function* (start = 0, end = size) {
      if (start === 0 && end === size) return yield* readAll();
      heldHandle ??= await open(path).catch(throwUnreadable(label));
      yield* readByteRange(heldHandle, start, end, label);
    },
    verifyUnchanged: async () => {
      const current = await stat(path).catch(throwUnreadable(label));
      if (current.size !== size || current.mtimeMs !== mtimeMs || current.ino !== ino) throw changedFileFailure(label);
    },
    close: async () => heldHandle?.close(),
  };
}

const READ_CHUNK_BYTES = 512 * 1024;

// A chunk is valid until the second after it: a sender withholds one.
async function* readByteRange(
  handle: FileHandle,
  start: number,
  end: number,
  label: string,
): AsyncGenerator<Uint8Array> {
  let position = start;
  try {
    for await (const chunk of readRange(handle, start, end, READ_CHUNK_BYTES, 3)) {
      position += chunk.length;
      yield chunk;
    }
  } catch (error) {
    throwUnreadable(label)(error);
  }
  if (position < end) throw changedFileFailure(label);
}

function throwUnreadable(label: string): (error: unknown) => never {
  return (error) => {
    throw fileFailure('read', label, error, { applied: 'no' });
  };
}

export function changedFileFailure(label: string): Failure {
  return new Failure('local_file', `${label} was changed after it was checked; nothing was applied`, {
    hint: 'run the command again when no other process writes to the file',
    applied: 'no',
  });
}

async function* decompressIfNeeded(chunks: AsyncIterable<Uint8Array>, label: string): AsyncGenerator<Uint8Array> {
  const { start, chunks: text } = await peekStart(chunks, 4);
  const compression = readFormat(start, label);
  yield* compression ? decompressChunks(text, compression, label) : text;
}

type Spool = ReturnType<typeof createCopies>;

// One anonymous file (0600) for copies of all inputs that can be read only once, created at the first read.
function createCopies(directory: string | undefined, maxBytes: number | undefined) {
  let spool: Awaited<ReturnType<typeof openSpool>> | undefined;
  let usedBytes = 0;
  const hint = 'free space there, or set SVC_DATA_DIR to another directory';
  const append = async (chunk: Uint8Array, label: string): Promise<void> => {
    if (directory === undefined) return;
    spool ??= await openSpool(directory, maxBytes).catch((error: unknown) => {
      throw fileFailure('keep a copy of', `${label} in ${directory}`, error, { hint, applied: 'no' });
    });
    await spool.append(chunk, label, hint);
    usedBytes += chunk.length;
  };
  return {
    add: (label: string, chunks: AsyncIterable<Uint8Array>): TextSource => {
      let baseOffset = 0;
      let bytes = 0;
      let size: number | undefined;
      return {
        label,
        get size() {
          return size;
        },
        readFirst: async function* () {
          baseOffset = usedBytes;
          for await (const chunk of chunks) {
            bytes += chunk.length;
            await append(chunk, label);
            yield chunk;
          }
          size = bytes;
        },
        readAgain: async function* (start = 0, end = bytes) {
          if (spool) yield* readByteRange(spool.handle, baseOffset + start, baseOffset + end, label);
        },
        verifyUnchanged: async () => {},
        close: async () => {},
      };
    },
    close: async (): Promise<void> => spool?.handle.close(),
  };
}

type Compression = 'gzip' | 'zstd';

const HEAD_BYTES = 1024;

// The compression that the first bytes show. Throws Failure `body` for a format that holds no trajectories.
function readFormat(start: Uint8Array, label: string): Compression | undefined {
  const compression = detectCompression(start);
  const foreign = compression ? undefined : foreignFormat(Buffer.from(start));
  if (!foreign) return compression;
  const { name, hint } = foreign;
  throw new Failure('body', `${label} is ${name}`, {
    hint: /^compressed|LFS/.test(name)
      ? hint
      : 'trajectories are lines of JSON, such as {"messages_and_choices":[...],"reward":1}; see: svc help training',
    applied: 'no',
  });
}

async function* decompressChunks(
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
    throw fileFailure('read', `${label}: it is not valid ${compression}`, error, { applied: 'no' });
  }
}

// The decoder holds chunks that would be overwritten.
async function* copyChunks(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) yield Buffer.from(chunk);
}

const DECODER_CHUNK_BYTES = 128 * 1024;

async function createDecoder(compression: Compression, label: string): Promise<Transform> {
  const zlib = await import('node:zlib');
  if (compression === 'gzip') return zlib.createGunzip({ chunkSize: DECODER_CHUNK_BYTES });
  if ('createZstdDecompress' in zlib && typeof zlib.createZstdDecompress === 'function')
    return zlib.createZstdDecompress({ chunkSize: DECODER_CHUNK_BYTES });
  throw new Failure('local_file', `cannot read ${label}: this Node cannot read zstd`, {
    hint: `Node 22.15 and later can; or: zstd -dc ${label} | svc train -`,
    applied: 'no',
  });
}

// A path, or the `*.json`, `*.jsonl` and `*.gz` files of a directory in bytewise order.
async function expandDirectory(path: string, cwd: string): Promise<string[]> {
  const absolutePath = resolve(cwd, path);
  const isDirectory = path !== '-' && (await stat(absolutePath).catch(() => undefined))?.isDirectory() === true;
  if (!isDirectory) return [path];
  const entries = await readdir(absolutePath, { withFileTypes: true }).catch((error: unknown) => {
    throw fileFailure('read', path, error);
  });
  const files = entries.filter((one) => !one.isDirectory() && /\.(json|jsonl|gz)$/.test(one.name));
  if (files.length === 0)
    throw new Failure('local_file', `there is nothing to send in ${path}`, {
      hint: 'svc sends the *.json, *.jsonl and *.gz files of a directory',
    });
  const names = files.map(({ name }) => Buffer.from(name)).sort(Buffer.compare);
  return names.map((name) => join(path, name.toString()));
}
