import { resolve } from 'node:path';
import type { Context } from '../context.ts';
import { Failure } from '../errors.ts';
import { collectInput, MAX_INPUT_BYTES, readInputFile, unreadableInputFailure } from '../files/read-input.ts';
import { type Deadline, noDeadline } from '../http/deadline.ts';
import type { Runtime } from '../runtime.ts';
import { type LabeledBytes, labeledStdin } from './command-input.ts';

/** Reads the inputs that a command line names. */
export interface InputReader {
  /** The bytes of a file, or of stdin if the path is `-`. Throws Failure `local` if it cannot be read. */
  readonly read: (path: string) => Promise<Uint8Array>;
  /** All of stdin, although nothing named it; a notice on stderr says so when it stays silent. */
  readonly readStdin: () => Promise<Uint8Array>;
  /** True when stdin has data, which nothing reads; never true for a terminal. */
  readonly hasUnreadStdin: () => Promise<boolean>;
  /** The body that a request starts from: a file, or stdin if no path is given. */
  readonly whole: (path?: string) => Promise<LabeledBytes>;
}

// Long enough that a program which is still starting causes no notice.
const STDIN_NOTICE_DELAY_MS = 2000;

/** The inputs of a run, each at most MAX_INPUT_BYTES; its signal and the deadline end the waiting for them. */
export function createInputReader(
  { runtime, signal, report }: Pick<Context, 'runtime' | 'signal' | 'report'>,
  deadline = noDeadline,
): InputReader {
  const collectStdin = (chunksUntil: (limit: AbortSignal) => AsyncIterable<Uint8Array>): Promise<Uint8Array> => {
    const limit = limitInputTime('stdin', signal, runtime, deadline);
    return collectInput(chunksUntil(limit.signal), 'stdin', MAX_INPUT_BYTES).finally(limit.cancel);
  };
  const readStdin: InputReader['readStdin'] = () =>
    collectStdin((limit) => readStdinChunksWithNotice(runtime, limit, report.note));
  const read: InputReader['read'] = async (path) => {
    if (path === '-') return collectStdin((limit) => readStdinChunks(runtime, limit));
    const limit = limitInputTime(path, signal, runtime, deadline);
    const limits = { signal: limit.signal, maxBytes: MAX_INPUT_BYTES };
    return readInputFile(resolve(runtime.cwd, path), path, limits).finally(limit.cancel);
  };
  return {
    read,
    readStdin,
    hasUnreadStdin: async () => {
      if (runtime.stdinFd === undefined) return false;
      const { hasUnreadData } = await import('../files/has-unread-data.ts');
      return hasUnreadData(runtime.stdinFd);
    },
    whole: async (path) => {
      if (path === undefined) return labeledStdin(await readStdin());
      return path === '-' ? labeledStdin(await read(path)) : { label: path, bytes: await read(path) };
    },
  };
}

/** A signal that also ends, with the failure, once the deadline for an input has passed; `cancel` stops the clock. */
export function limitInputTime(
  displayPath: string,
  signal: AbortSignal,
  { after }: Pick<Runtime, 'after'>,
  { limitMs, remainingMs }: Deadline,
  failure?: Failure,
): { readonly signal: AbortSignal; readonly cancel: () => void } {
  if (limitMs === Number.POSITIVE_INFINITY) return { signal, cancel: () => {} };
  const limit = new AbortController();
  const cancel = after(remainingMs(), () => limit.abort(failure ?? inputTimeoutFailure(displayPath, limitMs)));
  return { signal: AbortSignal.any([signal, limit.signal]), cancel };
}

/** Stdin in chunks, although nothing named it; a notice says so when it stays silent. Throws as readStdinChunks does. */
export async function* readStdinChunksWithNotice(
  runtime: Runtime,
  signal: AbortSignal,
  onNotice: (message: string) => Promise<void>,
): AsyncGenerator<Uint8Array> {
  const cancelNotice = runtime.after(
    STDIN_NOTICE_DELAY_MS,
    () => void onNotice('waiting for the body on stdin; nothing has arrived for 2 s'),
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

/** Stdin in chunks, until the signal ends it. Throws Failure `local` if it cannot be read. */
export async function* readStdinChunks({ stdin }: Runtime, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const stop = (): void => void stdin.destroy(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  try {
    for await (const chunk of stdin) yield chunk;
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw unreadableInputFailure('stdin', error);
  } finally {
    // A stream that has been read needs no listener.
    signal.removeEventListener('abort', stop);
  }
}

function inputTimeoutFailure(displayPath: string, limitMs: number): Failure {
  return new Failure('local', `no end of ${displayPath} within ${limitMs / 1000} s; nothing was sent`, {
    hint: 'check what writes to it, or set a longer --timeout',
    applied: 'no',
  });
}

/** The dependencies of building a body. */
export interface BodyDependencies {
  readonly inputs: InputReader;
  readonly now: () => number;
  readonly randomBytes: (count: number) => Uint8Array;
}

/** The dependencies of building a body in a command: input files (createInputReader), the clock and random bytes. */
export function createBodyDependencies(context: Context, deadline?: Deadline): BodyDependencies {
  const { now, randomBytes } = context.runtime;
  return { inputs: createInputReader(context, deadline), now, randomBytes };
}
