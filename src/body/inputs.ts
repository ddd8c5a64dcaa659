import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Failure } from '../errors.ts';
import { fileReason } from '../files/reason.ts';
import type { Runtime } from '../runtime.ts';
import { type Named, namedStdin } from './given.ts';

/** Reads what a command line names. */
export interface Inputs {
  /** The bytes of a file, or of stdin where the path is `-`. Throws Failure `local` where it cannot be read. */
  readonly read: (path: string) => Promise<Uint8Array>;
  /** All of stdin, though nothing named it; a line says so when it stays silent. */
  readonly unnamed: () => Promise<Uint8Array>;
  /** The body that a request starts from: a file, or stdin where nothing is named. */
  readonly whole: (path?: string) => Promise<Named>;
}

// Long enough that a program which is still starting is not nagged about.
const SILENCE = 2000;

/** The inputs of a run; `note` tells the user that stdin is being waited for, and `signal` ends the waiting. */
export function inputsOf(runtime: Runtime, signal: AbortSignal, note: (message: string) => Promise<void>): Inputs {
  const read: Inputs['read'] = (path) =>
    path === '-' ? readAll(stdinPieces(runtime, signal)) : readNamed(resolve(runtime.cwd, path), path);
  const unnamed = (): Promise<Uint8Array> => readAll(unnamedPieces(runtime, signal, note));
  return {
    read,
    unnamed,
    whole: async (path) => {
      if (path === undefined) return namedStdin(await unnamed());
      return { label: path === '-' ? 'stdin' : path, bytes: await read(path) };
    },
  };
}

/** Stdin piece by piece, though nothing named it; a line says so when it stays silent. Throws as stdinPieces does. */
export async function* unnamedPieces(
  runtime: Runtime,
  signal: AbortSignal,
  note: (message: string) => Promise<void>,
): AsyncGenerator<Uint8Array> {
  const stop = runtime.after(SILENCE, () => void note('reading the body from stdin; nothing has come for 2 s'));
  try {
    for await (const piece of stdinPieces(runtime, signal)) {
      stop();
      yield piece;
    }
  } finally {
    stop();
  }
}

/** Stdin piece by piece, until the signal ends it. Throws Failure `local` where it cannot be read. */
export async function* stdinPieces({ stdin }: Runtime, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const stop = (): void => void stdin.destroy(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  try {
    for await (const piece of stdin) yield piece;
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw new Failure('local', `cannot read stdin: ${fileReason(error)}`);
  } finally {
    // Nobody listens to a stream that has been read.
    signal.removeEventListener('abort', stop);
  }
}

async function readAll(pieces: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all);
}

async function readNamed(path: string, typed: string): Promise<Uint8Array> {
  try {
    return await readFile(path);
  } catch (error) {
    throw new Failure('local', `cannot read ${typed}: ${fileReason(error)}`);
  }
}
