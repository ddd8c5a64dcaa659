import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Failure } from '../errors.ts';
import { describeFileError } from '../files/file-errors.ts';
import type { Runtime } from '../runtime.ts';
import { type LabeledBytes, labeledStdin } from './command-input.ts';

/** Reads what a command line names. */
export interface InputReader {
  /** The bytes of a file, or of stdin where the path is `-`. Throws Failure `local` where it cannot be read. */
  readonly read: (path: string) => Promise<Uint8Array>;
  /** All of stdin, though nothing named it; a line says so when it stays silent. */
  readonly readStdin: () => Promise<Uint8Array>;
  /** The body that a request starts from: a file, or stdin where nothing is named. */
  readonly whole: (path?: string) => Promise<LabeledBytes>;
}

// Long enough that a program which is still starting is not nagged about.
const STDIN_NOTICE_DELAY_MS = 2000;

/** The inputs of a run; `note` tells the user that stdin is being waited for, and `signal` ends the waiting. */
export function createInputReader(
  runtime: Runtime,
  signal: AbortSignal,
  onNotice: (message: string) => Promise<void>,
): InputReader {
  const read: InputReader['read'] = (path) =>
    path === '-' ? readAllBytes(readStdinChunks(runtime, signal)) : readNamedFile(resolve(runtime.cwd, path), path);
  const readStdin = (): Promise<Uint8Array> => readAllBytes(readStdinChunksWithNotice(runtime, signal, onNotice));
  return {
    read,
    readStdin,
    whole: async (path) => {
      if (path === undefined) return labeledStdin(await readStdin());
      return { label: path === '-' ? 'stdin' : path, bytes: await read(path) };
    },
  };
}

/** Stdin piece by piece, though nothing named it; a line says so when it stays silent. Throws as stdinPieces does. */
export async function* readStdinChunksWithNotice(
  runtime: Runtime,
  signal: AbortSignal,
  onNotice: (message: string) => Promise<void>,
): AsyncGenerator<Uint8Array> {
  const cancelNotice = runtime.after(
    STDIN_NOTICE_DELAY_MS,
    () => void onNotice('reading the body from stdin; nothing has come for 2 s'),
  );
  try {
    for await (const chunk of readStdinChunks(runtime, signal)) {
      cancelNotice();
      yield chunk;
    }
  } finally {
    cancelNotice();
  }
}

/** Stdin piece by piece, until the signal ends it. Throws Failure `local` where it cannot be read. */
export async function* readStdinChunks({ stdin }: Runtime, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const stop = (): void => void stdin.destroy(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  try {
    for await (const chunk of stdin) yield chunk;
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw new Failure('local', `cannot read stdin: ${describeFileError(error)}`);
  } finally {
    // Nobody listens to a stream that has been read.
    signal.removeEventListener('abort', stop);
  }
}

async function readAllBytes(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all);
}

async function readNamedFile(path: string, displayPath: string): Promise<Uint8Array> {
  try {
    return await readFile(path);
  } catch (error) {
    throw new Failure('local', `cannot read ${displayPath}: ${describeFileError(error)}`);
  }
}
