import { observeChunks } from './body-chunks.ts';
import { type ExchangeSignal, type HttpResponse, linkSignal, type Middleware, type RequestBody } from './message.ts';
import type { RequestProgress } from './request-progress.ts';

/** One time limit over attempts, the waits between them and the response, on a monotonic clock. */
export interface Deadline {
  readonly limitMs: number;
  readonly remainingMs: () => number;
  /** The limit does not hold while svc waits for stdin to begin, which then calls `restart`. */
  readonly isDefault: boolean;
  /** Starts the time of a default limit again; a limit that the user set continues. */
  readonly restart: () => void;
}

/** A deadline in `limitMs`; without one, it never passes. */
export function createDeadline(
  limitMs = Number.POSITIVE_INFINITY,
  { elapsed }: { readonly elapsed: () => number } = { elapsed: () => 0 },
  isDefault = false,
): Deadline {
  let startedAt = elapsed();
  const restart = (): void => {
    if (isDefault) startedAt = elapsed();
  };
  return { limitMs, remainingMs: () => Math.max(0, startedAt + limitMs - elapsed()), isDefault, restart };
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

/** The time limits of docs/contract.md in milliseconds, except the total, which is a deadline over all attempts. */
export const timeLimits = {
  /** Until the request begins to leave: name lookup, connection, TLS, proxies. */
  connect: 10_000,
  /** Without a byte of the response, or of the request while it leaves. */
  firstByte: 600_000,
  idle: 120_000,
} as const;

// A slow interim response (1xx) is a heartbeat; more than these are a flood.
const MAX_INTERIM_RESPONSES = 10_000;
const MAX_INTERIM_BURST = 100;
const INTERIM_BURST_MS = 10_000;

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

/** Ends an exchange with TimeLimitError at a limit or the deadline, and with Error after too many interim responses. */
export function withTimeLimits(deadline: Deadline, progress: RequestProgress, startTimer: StartTimer): Middleware {
  return (next) => async (request) => {
    const { signal, abort, release } = linkSignal(request.signal);
    const start = (limit: TimeLimit): (() => void) =>
      startTimer(timeLimits[limit], () => {
        if (limit !== 'connect' || progress.phase === 'nothing') abort(new TimeLimitError(limit, timeLimits[limit]));
      });
    const remainingMs = deadline.remainingMs();
    const endTotal =
      remainingMs === Number.POSITIVE_INFINITY
        ? undefined
        : startTimer(remainingMs, () => abort(new TimeLimitError('total', deadline.limitMs)));
    const end = (): void => {
      endTotal?.();
      release();
    };
    const endConnect = start('connect');
    let endFirst = start('firstByte');
    // An upload that makes progress is not silent, however long it takes, and neither is a service with a heartbeat.
    const onProgress = (): void => {
      endFirst();
      endFirst = start('firstByte');
    };
    let interimCount = 0;
    let burstCount = 0;
    let endBurst = (): void => {};
    const onInterimResponse = (): void => {
      onProgress();
      interimCount += 1;
      burstCount += 1;
      if (burstCount === 1)
        endBurst = startTimer(INTERIM_BURST_MS, () => {
          burstCount = 0;
        });
      if (interimCount === MAX_INTERIM_RESPONSES)
        abort(new Error(`the server sent ${interimCount} interim responses (1xx) before a response`));
      else if (burstCount === MAX_INTERIM_BURST)
        abort(new Error(`the server sent ${burstCount} interim responses (1xx) within ${INTERIM_BURST_MS / 1000} s`));
    };
    const { body } = request;
    const observedBody: RequestBody =
      body instanceof Uint8Array
        ? body
        : { length: body.length, chunks: () => observeChunks(body.chunks(), onProgress) };
    try {
      const response = await next({ ...request, body: observedBody, onInterimResponse, signal });
      if (!response.completeBody) {
        const limitedBody = readWithIdleLimit(response, start, signal, end);
        return { ...response, body: limitedBody, stop: () => abort(new Error('the exchange was stopped')) };
      }
      end();
      return response;
    } catch (error) {
      end();
      throw signal.aborted ? signal.reason : error;
    } finally {
      endConnect();
      endFirst();
      endBurst();
    }
  };
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
