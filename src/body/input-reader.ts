import { resolve } from 'node:path';
import type { Context } from '../context.ts';
import { Failure, type Issue, usageFailure } from '../errors.ts';
import {
  collectInput,
  MAX_INPUT_BYTES,
  prependChunk,
  readInputFile,
  unreadableInputFailure,
} from '../files/read-input.ts';
import { type Deadline, noDeadline } from '../http/time-limits.ts';
import type { TextPosition } from '../json/utf8.ts';
import type { Runtime } from '../runtime.ts';

export interface LabeledBytes {
  readonly label: string;
  readonly bytes: Uint8Array;
  /** The position of an offset in the file, if the bytes are a part of it. */
  readonly position?: (offset: number) => TextPosition;
  readonly issue?: Issue | undefined;
}

export interface BodyInputs extends Pick<Runtime, 'now' | 'randomBytes'> {
  /** The bytes of a file, or of stdin for `-`; `awaited` is what svc waits for on a stdin that nothing named. Throws `local_file`. */
  readonly read: (path: string, awaited?: string) => Promise<Uint8Array>;
  readonly hasUnreadStdin: () => Promise<boolean>;
}

/** The inputs of a run, each at most MAX_INPUT_BYTES; its signal and the deadline end the waiting for them. */
export function createBodyInputs(context: StdinContext, deadline = noDeadline): BodyInputs {
  const { runtime, signal } = context;
  return {
    now: runtime.now,
    randomBytes: runtime.randomBytes,
    read: async (path, awaited) => {
      if (path === '-') return collectInput(readStdinChunks(context, deadline, awaited), 'stdin', MAX_INPUT_BYTES);
      const limit = limitInputTime(path, signal, runtime, deadline);
      const limits = { signal: limit.signal, maxBytes: MAX_INPUT_BYTES };
      return readInputFile(resolve(runtime.cwd, path), path, limits).finally(limit.cancel);
    },
    hasUnreadStdin: async () => {
      if (runtime.stdinFd === undefined) return false;
      const { hasUnreadData } = await import('../files/has-unread-data.ts');
      return hasUnreadData(runtime.stdinFd);
    },
  };
}

/** A signal that also ends, with the failure, once the deadline for an input has passed; `cancel` stops the clock. */
export function limitInputTime(
  displayPath: string,
  signal: AbortSignal,
  { after }: Pick<Runtime, 'after'>,
  { limitMs, remainingMs }: Deadline,
  failure = inputTimeoutFailure(displayPath, limitMs),
): { readonly signal: AbortSignal; readonly cancel: () => void } {
  if (limitMs === Number.POSITIVE_INFINITY) return { signal, cancel: () => {} };
  const limit = new AbortController();
  const cancel = after(remainingMs(), () => limit.abort(failure));
  return { signal: AbortSignal.any([signal, limit.signal]), cancel };
}

type StdinContext = Pick<Context, 'runtime' | 'signal' | 'report'>;

/** Stdin in chunks. If nothing named it, throws usage without a first byte at the deadline, or after 10 minutes. A default deadline begins with that byte. */
export async function* readStdinChunks(context: StdinContext, deadline: Deadline, awaited?: string) {
  const late = new AbortController();
  const limitEnd = ({ limitMs, remainingMs }: Deadline): (() => void) =>
    limitMs === Number.POSITIVE_INFINITY
      ? () => {}
      : context.runtime.after(remainingMs(), () => late.abort(inputTimeoutFailure('stdin', limitMs)));
  const waitDeadline = deadline.isDefault ? noDeadline : deadline;
  let stopClock = awaited === undefined ? limitEnd(waitDeadline) : limitSilence(awaited, context, waitDeadline, late);
  const chunks = readUntil(AbortSignal.any([context.signal, late.signal]), context.runtime);
  try {
    const first = await chunks.next();
    stopClock();
    deadline.restart();
    if (first.done) return;
    stopClock = limitEnd(deadline);
    yield* prependChunk(first.value, chunks);
  } finally {
    stopClock();
  }
}

async function* readUntil(signal: AbortSignal, { stdin }: Runtime): AsyncGenerator<Uint8Array> {
  const stop = (): void => void stdin.destroy(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  try {
    for await (const chunk of stdin) yield chunk;
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw unreadableInputFailure('stdin', error);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

// Long enough that a program which is still starting causes no notice.
const NOTICE_DELAY_MS = 2000;
const QUIET_NOTICE_DELAY_MS = 30_000;
const NOTICE_INTERVAL_MS = 60_000;
const MAX_SILENCE_MS = 600_000;

// Reports that nothing arrives on stdin, and in the end aborts; the returned function ends both.
function limitSilence(awaited: string, context: StdinContext, deadline: Deadline, late: AbortController): () => void {
  const { runtime, report } = context;
  const { limitMs, remainingMs } = deadline;
  const advice = 'if there is none, add --no-stdin';
  let cancelNotice = (): void => {};
  const scheduleNotice = (delayMs: number, silentMs: number): void => {
    cancelNotice = runtime.after(delayMs, () => {
      const silence = `nothing has arrived for ${silentMs / 1000} s`;
      void report.note(`waiting on stdin for ${awaited}; ${silence}; ${advice}`, true);
      scheduleNotice(NOTICE_INTERVAL_MS, silentMs + NOTICE_INTERVAL_MS);
    });
  };
  const firstDelayMs = report.isQuiet ? QUIET_NOTICE_DELAY_MS : NOTICE_DELAY_MS;
  scheduleNotice(firstDelayMs, firstDelayMs);
  const longer =
    limitMs < MAX_SILENCE_MS ? 'to wait longer, set a longer --timeout' : 'to wait without a time limit, add --stdin';
  const failure = usageFailure(
    `nothing arrived on stdin within ${Math.min(limitMs, MAX_SILENCE_MS) / 1000} s; nothing was sent`,
    `svc waited for ${awaited}; ${advice}; ${longer}`,
  );
  const cancelLimit = runtime.after(Math.min(remainingMs(), MAX_SILENCE_MS), () => late.abort(failure));
  return () => {
    cancelNotice();
    cancelLimit();
  };
}

function inputTimeoutFailure(displayPath: string, limitMs: number): Failure {
  const facts = { hint: 'check what writes to it, or set a longer --timeout', applied: 'no' } as const;
  return new Failure('local_file', `no end of ${displayPath} within ${limitMs / 1000} s; nothing was sent`, facts);
}

/** The path in `@file`, or `-` in `@-`; undefined for any other value. Throws usage for `@` alone, naming `label`. */
export function fileReference(word: string, label: string): string | undefined {
  if (word === '@') throw usageFailure(`${label} @ has no file name`, `write ${label} @file, or ${label} @- for stdin`);
  return word.startsWith('@') ? word.slice(1) : undefined;
}
