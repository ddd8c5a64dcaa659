import { Buffer } from 'node:buffer';
import { access, constants, type FileHandle, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { addAbortSignal, Readable } from 'node:stream';
import { limitInputTime } from '../body/input-reader.ts';
import { fileFailure } from '../files/file-errors.ts';
import { openAnonymousFile } from '../files/file-replacement.ts';
import { openInputFile, unreadableInputFailure } from '../files/read-input.ts';
import { type InputLine, splitLines } from '../files/split-lines.ts';
import { createDeadline } from '../http/time-limits.ts';
import { CARRIAGE_RETURN, SPACE, TAB } from '../json/json-bytes.ts';
import { hasByteOrderMark } from '../json/utf8.ts';
import type { Runtime } from '../runtime.ts';
import { type BatchOptions, isInShard } from './batch-options.ts';

export interface BatchInput {
  /** The name of the input in messages. */
  readonly label: string;
  /** The size of a file; unknown for pipes. */
  readonly totalBytes: number | undefined;
  /** Throws Failure `local_file` if the input cannot be read to its end. */
  readonly lines: AsyncIterable<InputLine>;
  /** Ends the lines early, even while waiting for more, and closes the input. */
  readonly stop: () => void;
  /**
   * The same input twice, to be used instead of this one. A pipe is first copied into an unnamed file in a directory; the
   * signal ends the copying with its reason.
   */
  readonly twice: (directory: string, signal: AbortSignal) => Promise<readonly [BatchInput, BatchInput]>;
}

/** Lines that svc has in memory. */
export function createMemoryInput(label: string, lines: readonly string[], maxLineBytes: number): BatchInput {
  const chunks = lines.map((line) => Buffer.from(`${line}\n`));
  return createInput(label, undefined, async () => Readable.from(chunks), maxLineBytes);
}

/**
 * The lines of an input that a batch is about: checking, comparing, counting and sending read them from here. `onEmpty` is
 * called for an empty line, `onRead` for each line of the input. A line that is left out keeps the result of an earlier run.
 */
export async function* selectedLines(
  { lines }: Pick<BatchInput, 'lines'>,
  { shard }: Pick<BatchOptions, 'shard'>,
  { onRead, onEmpty }: { readonly [on in 'onRead' | 'onEmpty']?: (line: InputLine) => void } = {},
): AsyncGenerator<InputLine> {
  for await (const line of lines) {
    onRead?.(line);
    if (!isInShard(line.number, shard)) continue;
    if (isEmptyLine(line)) onEmpty?.(line);
    else yield line;
  }
}

/** True for a line of white space only; a byte order mark on the first line is not part of its text. */
export function isEmptyLine({ number, bytes }: InputLine): boolean {
  const text = bytes && number === 1 && hasByteOrderMark(bytes) ? bytes.subarray(3) : bytes;
  return text?.every((byte) => byte === SPACE || byte === TAB || byte === CARRIAGE_RETURN) ?? false;
}

type OpenStream = (signal: AbortSignal) => Promise<Readable>;

/**
 * Opens a file of lines, or stdin if the path is `-`. The time limit is for the first bytes of a FIFO. Throws Failure
 * `local_file` if it cannot be read.
 */
export async function openBatchInput(
  displayPath: string,
  runtime: Pick<Runtime, 'cwd' | 'stdin' | 'after' | 'elapsed'>,
  maxLineBytes: number,
  timeoutMs?: number,
): Promise<BatchInput> {
  const label = displayPath === '-' ? 'stdin' : displayPath;
  const path = resolve(runtime.cwd, displayPath);
  const totalBytes = displayPath === '-' ? undefined : await readFileSize(path, displayPath);
  const openStream: OpenStream = async (signal) => {
    if (displayPath === '-') return runtime.stdin;
    if (totalBytes !== undefined) return (await openInputFile(path, displayPath, signal)).stream;
    const limit = limitInputTime(displayPath, signal, runtime, createDeadline(timeoutMs, runtime));
    const { stream } = await openInputFile(path, displayPath, limit.signal);
    return stream.once('readable', limit.cancel).once('close', limit.cancel);
  };
  return createInput(label, totalBytes, openStream, maxLineBytes);
}

function createInput(
  label: string,
  totalBytes: number | undefined,
  openStream: OpenStream,
  maxLineBytes: number,
): BatchInput {
  let stream: Readable | undefined;
  let copy: FileHandle | undefined;
  let isStopped = false;
  const stopped = new AbortController();
  // Opened when the first line is requested: a command that fails before has nothing to close.
  const lines = async function* (): AsyncGenerator<InputLine> {
    if (isStopped) return;
    try {
      stream = await openStream(stopped.signal);
      for await (const line of splitLines(stream, maxLineBytes)) yield line;
    } catch (error) {
      if (!isStopped) throw unreadableInputFailure(label, error);
    }
  };
  return {
    label,
    totalBytes,
    lines: lines(),
    stop: () => {
      isStopped = true;
      stopped.abort();
      stream?.destroy();
      void copy?.close();
    },
    twice: async (directory, signal) => {
      if (totalBytes === undefined)
        copy = await copyStream(addAbortSignal(signal, await openStream(stopped.signal)), directory, label, signal);
      const reopen: OpenStream = async (signal) =>
        copy ? copy.createReadStream({ start: 0, autoClose: false }) : openStream(signal);
      const open = (): BatchInput => createInput(label, totalBytes, reopen, maxLineBytes);
      return [open(), open()];
    },
  };
}

async function copyStream(
  stream: Readable,
  directory: string,
  label: string,
  signal: AbortSignal,
): Promise<FileHandle> {
  let handle: FileHandle | undefined;
  try {
    handle = await openAnonymousFile(directory);
    for await (const chunk of stream) await handle.writeFile(chunk);
    return handle;
  } catch (error) {
    await handle?.close();
    signal.throwIfAborted();
    throw fileFailure(`copy ${label} to compare it with earlier runs`, error);
  }
}

async function readFileSize(path: string, displayPath: string): Promise<number | undefined> {
  try {
    const found = await stat(path);
    if (found.isDirectory()) throw Object.assign(new Error('directory'), { code: 'EISDIR' });
    await access(path, constants.R_OK);
    return found.isFile() ? found.size : undefined;
  } catch (error) {
    throw fileFailure(`read ${displayPath}`, error);
  }
}
