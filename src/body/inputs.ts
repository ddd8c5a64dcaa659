import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Failure } from '../errors.ts';
import { fileReason } from '../files/reason.ts';
import type { Runtime } from '../runtime.ts';

/** Reads what a command line names. */
export interface Inputs {
  /** The bytes of a file, or of stdin where the path is `-`. Throws Failure `local` where it cannot be read. */
  readonly read: (path: string) => Promise<Uint8Array>;
  /** All of stdin, though nothing named it; a line says so when it stays silent. */
  readonly unnamed: () => Promise<Uint8Array>;
}

// Long enough that a program which is still starting is not nagged about.
const SILENCE = 2000;

/** The inputs of a run; `note` tells the user that stdin is being waited for, and `signal` ends the waiting. */
export function inputsOf(runtime: Runtime, signal: AbortSignal, note: (message: string) => Promise<void>): Inputs {
  return {
    read: (path) => (path === '-' ? readAll(runtime, signal) : readNamed(resolve(runtime.cwd, path), path)),
    unnamed: async () => {
      const stop = runtime.after(SILENCE, () => void note('reading the body from stdin; nothing has come for 2 s'));
      try {
        return await readAll(runtime, signal, stop);
      } finally {
        stop();
      }
    },
  };
}

async function readAll({ stdin }: Runtime, signal: AbortSignal, heard: () => void = () => {}): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  const stop = (): void => void stdin.destroy(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  try {
    for await (const piece of stdin) {
      heard();
      pieces.push(piece);
    }
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw new Failure('local', `cannot read stdin: ${fileReason(error)}`);
  } finally {
    // Nobody listens to a stream that has been read.
    signal.removeEventListener('abort', stop);
  }
  return Buffer.concat(pieces);
}

async function readNamed(path: string, typed: string): Promise<Uint8Array> {
  try {
    return await readFile(path);
  } catch (error) {
    throw new Failure('local', `cannot read ${typed}: ${fileReason(error)}`);
  }
}
