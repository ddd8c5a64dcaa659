import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { Failure } from '../errors.ts';
import { describeFileError } from '../files/file-errors.ts';
import { openInputFile, unreadableInputFailure } from '../files/read-input.ts';
import type { Runtime } from '../runtime.ts';
import { type InputLine, splitLines } from './split-lines.ts';

/** The lines of a batch, and what is known of where they come from. */
export interface BatchInput {
  /** What to call it in messages. */
  readonly label: string;
  /** Bytes in all; unknown for pipes. */
  readonly totalBytes: number | undefined;
  /** Throws Failure `local` where it cannot be read to its end. */
  readonly lines: AsyncIterable<InputLine>;
  /** Ends the lines early, also while more is waited for. */
  readonly stop: () => void;
}

/** Opens a file of lines, or stdin where the path is `-`. Throws Failure `local` where it cannot be read. */
export async function openBatchInput(displayPath: string, runtime: Runtime, maxLineBytes: number): Promise<BatchInput> {
  const label = displayPath === '-' ? 'stdin' : displayPath;
  const path = resolve(runtime.cwd, displayPath);
  const totalBytes = displayPath === '-' ? undefined : await readFileSize(path, displayPath);
  let stream: Readable | undefined;
  let isStopped = false;
  const stopped = new AbortController();
  // Opened when the first line is asked for: a command that fails before has nothing to close.
  const lines = async function* (): AsyncGenerator<InputLine> {
    if (isStopped) return;
    stream = displayPath === '-' ? runtime.stdin : (await openInputFile(path, displayPath, stopped.signal)).stream;
    try {
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
    },
  };
}

async function readFileSize(path: string, displayPath: string): Promise<number | undefined> {
  try {
    const { size } = await stat(path).then((found) => (found.isFile() ? found : { size: undefined }));
    return size;
  } catch (error) {
    throw new Failure('local', `cannot read ${displayPath}: ${describeFileError(error)}`);
  }
}
