import { runInNewContext } from 'node:vm';
import { isHandshakeRefused } from '../errors.ts';
import { isRecord } from '../json/write-json.ts';
import { bodyChunks, MAX_CHUNK_BYTES } from './body-chunks.ts';
import { type ExchangeSignal, type HttpResponse, linkSignal, type Middleware, type RequestBody } from './message.ts';

export type Deadline = ReturnType<typeof createDeadline>;

/** One time limit over all attempts; none without `limitMs`. `isDefault`: it starts again when svc no longer waits for stdin. */
export function createDeadline(
  limitMs = Number.POSITIVE_INFINITY,
  { elapsed }: { readonly elapsed: () => number } = { elapsed: () => 0 },
  isDefault = false,
) {
  let startedAt = elapsed();
  const restart = (): void => {
    if (isDefault) startedAt = elapsed();
  };
  const remainingMs = (): number => Math.max(0, startedAt + limitMs - elapsed());
  return { limitMs, remainingMs, isDefault, restart };
}

export const noDeadline = createDeadline();

/** Waits. Throws the reason of the signal if that is aborted before the time is over. */
export function abortableDelay(delayMs: number, startTimer: StartTimer, signal?: ExchangeSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      cancelTimer();
      reject(signal?.reason);
    };
    const cancelTimer = startTimer(delayMs, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    if (signal?.aborted) onAbort();
    else signal?.addEventListener('abort', onAbort, { once: true });
  });
}

const MAX_RUN_MS = 3000;

/** Runs a function that could block the event loop, such as a regular expression. Throws Error after the limit, else as it does. */
export function runWithTimeLimit<T>(run: () => T, limitMs = MAX_RUN_MS): T {
  try {
    return runInNewContext('run()', { run }, { timeout: limitMs });
  } catch (error) {
    // Made in the other context, whose Error is another class.
    if (isRecord(error) && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT')
      throw new Error(`it took more than ${limitMs / 1000} s`);
    throw error;
  }
}

/** The time limits of docs/internals/contract.md in milliseconds, except the total, which is a deadline over all attempts. */
export const timeLimits = {
  /** Until the request begins to leave: name lookup, connection, TLS, proxies. */
  connect: 10_000,
  /** Without a byte of the response, or of the request while it leaves. */
  firstByte: 600_000,
  /** Between two chunks of a response, such as those of a stream. */
  idle: 120_000,
} as const;

type TimeLimit = keyof typeof timeLimits;

/** An exchange took too long; `limit` says which limit it was. */
export class TimeLimitError extends Error {
  override readonly name = 'TimeLimitError';
  readonly limit: TimeLimit | 'total';
  readonly limitMs: number;

  constructor(limit: TimeLimit | 'total', limitMs: number) {
    super(`the ${limit} limit of ${limitMs} ms was reached`);
    this.limit = limit;
    this.limitMs = limitMs;
  }
}

export type StartTimer = (milliseconds: number, action: () => void) => () => void;

/** `nothing`: connect or TLS did not finish. `part`: the body has begun to leave. `all`: it was handed over, so it may have been applied. */
export interface RequestProgress {
  phase: 'nothing' | 'part' | 'all';
  sentBytes: number;
  /** Exchanges begun; the other fields describe the last one. */
  attempts: number;
}

/**
 * Ends an exchange with TimeLimitError at a limit or the deadline, and with Error after too many interim responses. Keeps
 * `progress` current; a sender takes the first chunk of a body once it is connected. Stops a streamed body when a refusal
 * arrives before it has left completely: the server would discard the rest.
 */
export function watchExchange(deadline: Deadline, progress: RequestProgress, startTimer: StartTimer): Middleware {
  return (next) => async (request) => {
    const { body } = request;
    progress.phase = 'nothing';
    progress.sentBytes = 0;
    progress.attempts += 1;
    const { signal, abort, release } = linkSignal(request.signal);
    const start = (limit: TimeLimit): (() => void) =>
      startTimer(timeLimits[limit], () => {
        if (limit !== 'connect' || progress.phase === 'nothing') abort(new TimeLimitError(limit, timeLimits[limit]));
      });
    const { limitMs } = deadline;
    const isLimited = limitMs !== Number.POSITIVE_INFINITY;
    const endTotal = isLimited && startTimer(deadline.remainingMs(), () => abort(new TimeLimitError('total', limitMs)));
    const endConnect = start('connect');
    let endFirst = start('firstByte');
    // An upload that makes progress is not silent, however long it takes, and neither is a service with a heartbeat.
    const onProgress = (): void => {
      endFirst();
      endFirst = start('firstByte');
    };
    let interimLimit: ReturnType<typeof createInterimLimit> | undefined;
    const onInterimResponse = (): void => {
      onProgress();
      interimLimit ??= createInterimLimit(abort, startTimer);
      interimLimit.count();
    };
    const isWhole = body instanceof Uint8Array && body.length <= MAX_CHUNK_BYTES;
    const upload = isWhole ? undefined : watchUpload(body, progress, onProgress);
    const onBodySent = (): void => {
      if (isWhole) Object.assign(progress, { phase: 'all', sentBytes: body.length });
    };
    const end = (): void => {
      if (endTotal) endTotal();
      release();
      upload?.end();
    };
    try {
      const watched = upload ? { body: upload.body } : { body, onBodySent };
      const response = await next({ ...request, ...watched, onInterimResponse, signal });
      if (response.status >= 300) upload?.refuse();
      onBodySent();
      if (!response.completeBody) {
        const limitedBody = readWithIdleLimit(response, start, signal, end);
        return { ...response, body: limitedBody, stop: () => abort(new Error('the exchange was stopped')) };
      }
      end();
      return response;
    } catch (error) {
      end();
      const cause = signal.aborted ? signal.reason : error;
      if (isHandshakeRefused(cause)) Object.assign(progress, { phase: 'nothing', sentBytes: 0 });
      throw cause;
    } finally {
      endConnect();
      endFirst();
      interimLimit?.cancel();
    }
  };
}

// A slow interim response (1xx) is a heartbeat; more than these are a flood, which aborts the exchange.
const MAX_INTERIM_RESPONSES = 10_000;
const MAX_INTERIM_BURST = 100;
const INTERIM_BURST_MS = 10_000;

function createInterimLimit(abort: (reason: unknown) => void, startTimer: StartTimer) {
  let interimCount = 0;
  let burstCount = 0;
  let cancel = (): void => {};
  const count = (): void => {
    interimCount += 1;
    burstCount += 1;
    if (burstCount === 1)
      cancel = startTimer(INTERIM_BURST_MS, () => {
        burstCount = 0;
      });
    if (interimCount === MAX_INTERIM_RESPONSES)
      abort(new Error(`the server sent ${interimCount} interim responses (1xx) before a response`));
    else if (burstCount === MAX_INTERIM_BURST)
      abort(new Error(`the server sent ${burstCount} interim responses (1xx) within ${INTERIM_BURST_MS / 1000} s`));
  };
  return { count, cancel: () => cancel() };
}

// A body whose chunks keep `progress` current. Once it is refused, it throws after `end`.
function watchUpload(body: RequestBody, progress: RequestProgress, onProgress: () => void) {
  let isRefused = false;
  let end = (): void => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const chunks = async function* (): AsyncGenerator<Uint8Array> {
    progress.phase = 'part';
    for await (const chunk of bodyChunks(body)) {
      progress.sentBytes += chunk.length;
      // Set before the last chunk is handed over, because nothing reports when it has left.
      if (progress.sentBytes === body.length) progress.phase = 'all';
      if (isRefused) {
        // The connection has to last until the response was read.
        await ended;
        throw new Error('the request was refused');
      }
      onProgress();
      yield chunk;
    }
    progress.phase = 'all';
  };
  const refuse = (): void => {
    isRefused = true;
  };
  return { body: { length: body.length, chunks }, refuse, end };
}

async function* readWithIdleLimit(
  { body }: HttpResponse,
  start: (limit: TimeLimit) => () => void,
  signal: ExchangeSignal,
  end: () => void,
): AsyncGenerator<Uint8Array> {
  let endIdle = start('firstByte');
  try {
    for await (const chunk of body) {
      endIdle();
      yield chunk;
      endIdle = start('idle');
    }
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  } finally {
    endIdle();
    end();
  }
}
