import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { Failure } from '../errors.ts';
import { fileReason } from '../files/reason.ts';
import type { Runtime } from '../runtime.ts';
import { type Line, linesOf } from './line.ts';

/** The lines of a batch, and what is known of where they come from. */
export interface Input {
  /** What to call it in messages. */
  readonly label: string;
  /** Bytes in all; unknown for pipes. */
  readonly size: number | undefined;
  /** Throws Failure `local` where it cannot be read to its end. */
  readonly lines: AsyncIterable<Line>;
  /** Ends the lines early, also while more is waited for. */
  readonly stop: () => void;
}

/** Opens a file of lines, or stdin where the path is `-`. Throws Failure `local` where it cannot be read. */
export async function openInput(typed: string, runtime: Runtime, longestLine: number): Promise<Input> {
  const label = typed === '-' ? 'stdin' : typed;
  const path = resolve(runtime.cwd, typed);
  const size = typed === '-' ? undefined : await sizeOf(path, typed);
  let stream: Readable | undefined;
  let isStopped = false;
  // Opened when the first line is asked for: a command that fails before has nothing to close.
  const lines = async function* (): AsyncGenerator<Line> {
    if (isStopped) return;
    stream = typed === '-' ? runtime.stdin : createReadStream(path);
    try {
      for await (const line of linesOf(stream, longestLine)) yield line;
    } catch (error) {
      if (!isStopped) throw new Failure('local', `cannot read ${label}: ${fileReason(error)}`);
    }
  };
  return {
    label,
    size,
    lines: lines(),
    stop: () => {
      isStopped = true;
      stream?.destroy();
    },
  };
}

async function sizeOf(path: string, typed: string): Promise<number | undefined> {
  try {
    const { size } = await stat(path).then((found) => (found.isFile() ? found : { size: undefined }));
    return size;
  } catch (error) {
    throw new Failure('local', `cannot read ${typed}: ${fileReason(error)}`);
  }
}
