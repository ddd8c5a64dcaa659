import { Buffer } from 'node:buffer';
import { hash } from 'node:crypto';
import { access, constants, type FileHandle, open, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { addAbortSignal, Readable } from 'node:stream';
import { limitInputTime } from '../../body/input-reader.ts';
import { Failure } from '../../errors.ts';
import { fileFailure, withFileFailure } from '../../files/file-errors.ts';
import { openSpool } from '../../files/file-replacement.ts';
import { otherTextFormat } from '../../files/foreign-formats.ts';
import { openInputFile, readAt, unreadableInputFailure } from '../../files/read-input.ts';
import { type InputLine, type LineStart, splitLines } from '../../files/split-lines.ts';
import { createDeadline } from '../../http/time-limits.ts';
import { CARRIAGE_RETURN, SPACE, TAB } from '../../json/json-bytes.ts';
import { hasByteOrderMark } from '../../json/utf8.ts';
import { shellWord } from '../../output/shell-quote.ts';
import type { Runtime } from '../../runtime.ts';
import type { BatchOptions } from '../batch-options.ts';
import { rejectHead } from './input-encoding.ts';
import type { Shard } from './shard.ts';

export type BatchInput = ReturnType<typeof createInput>;

export function createMemoryInput(label: string, lines: readonly string[], maxLineBytes: number): BatchInput {
  const chunks = lines.map((line) => Buffer.from(`${line}\n`));
  return createInput(label, undefined, async () => Readable.from(chunks), lineSplitter(maxLineBytes));
}

/** True for a line of white space only; a byte order mark on the first line is not part of its text. */
export function isEmptyLine({ number, bytes }: InputLine): boolean {
  const text = bytes && number === 1 && hasByteOrderMark(bytes) ? bytes.subarray(3) : bytes;
  return text?.every((byte) => byte === SPACE || byte === TAB || byte === CARRIAGE_RETURN) ?? false;
}

export type LineSplitter = (chunks: AsyncIterable<Uint8Array>, start?: LineStart) => AsyncIterable<InputLine>;

/** The lines as they are; those above `maxLineBytes` have no bytes. With a label, text of another format is a Failure `body`. */
export function lineSplitter(maxLineBytes: number, label?: string): LineSplitter {
  return (chunks, start) =>
    start === undefined && label !== undefined
      ? splitLines(rejectOtherText(chunks, label), maxLineBytes)
      : splitLines(chunks, maxLineBytes, undefined, start);
}

/** Failure `body` for a file in which svc finds nothing to send. */
export function emptyInputFailure(what: 'lines' | 'rows', path: string, found: string): Failure {
  return new Failure('body', `there are no ${what} in ${path}: ${found}`, {
    hint: what === 'lines' ? 'write one JSON body per line' : 'write one row per record, after a header in a table',
  });
}

/** The same chunks. Throws Failure `body` for JSON in an array, YAML and the like, which would be an error in every line. */
export async function* rejectOtherText(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  path: string,
): AsyncGenerator<Uint8Array, undefined> {
  let isStart = true;
  const label = path === '-' ? 'stdin' : path;
  for await (const chunk of chunks) {
    const text: string = isStart
      ? Buffer.from(chunk)
          .toString('utf8')
          .replace(/^[\s\ufeff]+/, '')
      : '';
    const { name, hint } =
      (text !== '' && otherTextFormat(path, text, label === 'stdin' ? '' : `${shellWord(path)} `)) || {};
    if (name !== undefined) throw new Failure('body', `${label} is ${name}, not JSON Lines`, { hint });
    isStart &&= text === '';
    yield chunk;
  }
  return undefined;
}

/** Throws Failure `body` for a file that begins with something else than lines of text, before anything is written. */
export async function rejectOtherInput(label: string, path: string): Promise<void> {
  await withFileFailure('read', label, async () => {
    const file = await open(path);
    try {
      const head = await readAt(file, 0, HEAD_BYTES);
      rejectHead(head, label);
      for await (const _ of rejectOtherText([head], label));
    } finally {
      await file.close();
    }
  });
}

const HEAD_BYTES = 1024;

interface InputLimits {
  /** For the first bytes of a FIFO. */
  readonly firstByteMs?: number | undefined;
  /** For a pipe or device that is copied, from its opening to its end. */
  readonly totalMs?: number | undefined;
  readonly maxSpoolBytes?: number | undefined;
}

/** Opens a file of lines, or stdin for `-`. Throws Failure `local_file`. */
export async function openBatchInput(
  displayPath: string,
  runtime: Pick<Runtime, 'cwd' | 'stdin' | 'after' | 'elapsed'>,
  split: LineSplitter,
  limits: InputLimits = {},
): Promise<BatchInput> {
  const copy: InputSource['copy'] = (label, source, directory, signal) => {
    const limit = limitInputTime(label, signal, runtime, createDeadline(limits.totalMs, runtime));
    return copyInput(label, source, directory, limit.signal, limits.maxSpoolBytes).finally(limit.cancel);
  };
  if (displayPath === '-') return createInput('stdin', undefined, async () => runtime.stdin, split, { copy });
  const path = resolve(runtime.cwd, displayPath);
  const totalBytes = await withFileFailure('read', displayPath, async () => {
    const found = await stat(path);
    if (found.isDirectory()) throw Object.assign(new Error('directory'), { code: 'EISDIR' });
    await access(path, constants.R_OK);
    return found.isFile() ? found.size : undefined;
  });
  const openStream = async (signal: AbortSignal): Promise<Readable> => {
    if (totalBytes !== undefined) return (await openInputFile(path, displayPath, signal)).stream;
    const limit = limitInputTime(displayPath, signal, runtime, createDeadline(limits.firstByteMs, runtime));
    const { stream } = await openInputFile(path, displayPath, limit.signal);
    return stream.once('readable', limit.cancel).once('close', limit.cancel);
  };
  const file = totalBytes === undefined ? undefined : { path, split };
  return createInput(displayPath, totalBytes, openStream, split, { copy, file });
}

async function copyInput(
  label: string,
  source: Readable,
  directory: string,
  signal: AbortSignal,
  maxSpoolBytes: number | undefined,
): Promise<FileHandle> {
  let handle: FileHandle | undefined;
  try {
    const spool = await openSpool(directory, maxSpoolBytes);
    handle = spool.handle;
    for await (const chunk of addAbortSignal(signal, source)) await spool.append(chunk, label);
    return handle;
  } catch (error) {
    await handle?.close();
    signal.throwIfAborted();
    throw fileFailure('copy', `${label} to compare it with earlier runs`, error);
  }
}

interface InputSource {
  readonly copy?: (label: string, source: Readable, directory: string, signal: AbortSignal) => Promise<FileHandle>;
  /** A regular file, of which a shard reads only its part. */
  readonly file?: { readonly path: string; readonly split: LineSplitter } | undefined;
  /** The first byte of a part. */
  readonly start?: number;
}

/** An input of lines; each reading opens a stream. */
export function createInput(
  label: string,
  totalBytes: number | undefined,
  openStream: (signal: AbortSignal) => Promise<Readable>,
  split: LineSplitter,
  { copy: copyTo, file, start }: InputSource = {},
) {
  let stream: Readable | undefined;
  let copy: FileHandle | undefined;
  const stopped = new AbortController();
  const readLines = async function* (): AsyncGenerator<InputLine> {
    if (stopped.signal.aborted) return;
    try {
      // Opened when the first line is requested: a command that fails before has nothing to close.
      stream = copy ? copy.createReadStream({ start: 0, autoClose: false }) : await openStream(stopped.signal);
      for await (const line of split(stream)) yield line;
    } catch (error) {
      if (!stopped.signal.aborted) throw unreadableInputFailure(label, error);
    }
  };
  return {
    label,
    file,
    /** Set for a part of a file, which has the lines of one shard alone. */
    start,
    /** The size of a file or a part; unknown for pipes. */
    totalBytes,
    /** Each reading begins at the start; a pipe can be read once, unless it is kept. Throws Failure `local_file`. */
    lines: { [Symbol.asyncIterator]: readLines },
    /** Ends the lines early, even while waiting for more, and closes the input. */
    stop: (): void => {
      stopped.abort();
      stream?.destroy();
      void copy?.close();
    },
    /** Copies a pipe into an unnamed file in a directory, to be read again; the signal ends that with its reason. */
    keep: async (directory: string, signal: AbortSignal): Promise<void> => {
      if (copy || totalBytes !== undefined) return;
      copy = await copyTo?.(label, await openStream(stopped.signal), directory, signal);
    },
  };
}

export interface LineSelection extends Pick<BatchOptions, 'shard'>, Partial<Pick<BatchOptions, 'limit'>> {
  readonly sampledLines?: ReadonlySet<number> | undefined;
}

interface LineObserver {
  /** Called for each line of the input. */
  readonly onRead?: (line: InputLine) => void;
  readonly onEmpty?: (line: InputLine) => void;
  /** Called if the input is read to its end. */
  readonly onEnd?: () => void;
}

/** The lines of `--shard`, `--sample` and `--limit`, for checking, comparing and sending; a line left out keeps its earlier result. */
export async function* selectedLines(
  { lines, start }: BatchInput,
  { shard, limit = Number.POSITIVE_INFINITY, sampledLines }: LineSelection,
  { onRead, onEmpty, onEnd }: LineObserver = {},
): AsyncGenerator<InputLine> {
  let count = 0;
  for await (const line of lines) {
    onRead?.(line);
    if (start === undefined && !isInShard(line.number, shard)) continue;
    if (isEmptyLine(line)) onEmpty?.(line);
    else if (!sampledLines || sampledLines.has(line.number)) {
      yield line;
      count += 1;
      // A pipe may never end.
      if (count >= limit) return;
    }
  }
  onEnd?.();
}

/** The lines of a sample: those with the smallest digests of seed and number, so that a larger sample has them, too. */
export async function chooseSample(
  input: BatchInput,
  { size, seed }: NonNullable<BatchOptions['sample']>,
  shard: BatchOptions['shard'],
): Promise<ReadonlySet<number>> {
  let chosen: { readonly number: number; readonly key: string }[] = [];
  const keepSmallest = (): void => {
    chosen = chosen.sort((one, other) => (one.key < other.key ? -1 : 1)).slice(0, size);
  };
  for await (const { number } of selectedLines(input, { shard })) {
    chosen.push({ number, key: hash('sha256', `${seed} ${number}`, 'hex') });
    if (chosen.length >= 2 * size + 1000) keepSmallest();
  }
  keepSmallest();
  return new Set(chosen.map(({ number }) => number));
}

export function isInShard(line: number, { index, count }: Shard): boolean {
  return (line - index) % count === 0;
}
