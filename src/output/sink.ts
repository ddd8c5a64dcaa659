import { resolve } from 'node:path';
import { isReplaceable, openReplacement } from '../files/file-replacement.ts';
import { createEscapeFilter } from './escape-controls.ts';
import type { Writer } from './writer.ts';

/** The destination of a result. Nothing is final before `commit`. */
export interface Sink {
  readonly writer: Writer;
  /** An incomplete result is kept in `F.partial`; otherwise what is written is final. */
  readonly keepsPartial: boolean;
  readonly commit: () => Promise<void>;
  /** Keeps an incomplete result in `F.partial`, unless it is empty, and returns that name if it did. Does nothing after a commit. */
  readonly abandon: () => Promise<string | undefined>;
}

/** The sink of `-o`: a file that is replaced at the end, or stdout without `-o` and for `-`. */
export async function openSink(output: string | undefined, stdout: Writer, cwd: string): Promise<Sink> {
  if (output === undefined || output === '-') {
    return {
      writer: stdout,
      keepsPartial: false,
      commit: () => stdout.end(),
      abandon: () => stdout.end().then(() => undefined),
    };
  }
  const path = resolve(cwd, output);
  // A result may hold secrets; an existing file keeps its mode.
  const file = await openReplacement(path, output, 0o600);
  const filter = file.isTerminal ? createEscapeFilter() : undefined;
  let isEmpty = true;
  let isFinished = false;
  const write = async (text: string | Uint8Array): Promise<void> => {
    isEmpty &&= text.length === 0;
    await file.write(filter ? filter.push(text) : text);
  };
  const end = async (): Promise<void> => {
    if (filter) await file.write(filter.flush());
  };
  return {
    keepsPartial: await isReplaceable(path),
    writer: { isTerminal: false, hasColor: false, columns: 80, write, end },
    commit: async () => {
      if (isFinished) return;
      await end();
      await file.commit();
      isFinished = true;
    },
    abandon: async () => {
      const isKept = !isFinished && (await file.abandon(isEmpty ? undefined : `${path}.partial`));
      isFinished = true;
      return isKept ? `${output}.partial` : undefined;
    },
  };
}
