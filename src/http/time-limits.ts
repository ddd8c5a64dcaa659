import type { Deadline } from './deadline.ts';
import { linkAbort } from './link-abort.ts';
import type { Middleware, RequestBody, Response } from './message.ts';
import { bodyChunks, type RequestProgress } from './request-progress.ts';

/** How long the parts of an exchange may take, in milliseconds. */
export interface TimeLimits {
  /** Until the request begins to leave: name lookup, connection, TLS, proxies. */
  readonly connect: number;
  /** Without a byte of the answer, or of the request while it leaves. */
  readonly firstByte: number;
  /** Between two pieces of the answer. */
  readonly idle: number;
}

/** The time limits of docs/contract.md except the total, which is a deadline over all attempts. */
export const defaultTimeLimits = { connect: 10_000, firstByte: 600_000, idle: 120_000 } as const;

/** An exchange took too long; `limit` says which limit it was. */
export class TimeLimitError extends Error {
  override readonly name = 'LimitReached';
  readonly limit: keyof TimeLimits | 'total';
  readonly limitMs: number;

  constructor(limit: keyof TimeLimits | 'total', limitMs: number) {
    super(`the ${limit} limit of ${limitMs} ms was reached`);
    this.limit = limit;
    this.limitMs = limitMs;
  }
}

export type StartTimer = (milliseconds: number, action: () => void) => () => void;

/** Ends an exchange with LimitReached when one of its limits or the deadline is reached, the reading of the answer included. */
export function withTimeLimits(
  limits: TimeLimits,
  deadline: Deadline,
  progress: RequestProgress,
  startTimer: StartTimer,
): Middleware {
  return (next) => async (request) => {
    const { controller, release } = linkAbort([request.signal]);
    const { signal } = controller;
    const stop = (limit: TimeLimitError['limit'], limitMs: number): void =>
      controller.abort(new TimeLimitError(limit, limitMs));
    const start = (limit: keyof TimeLimits): (() => void) =>
      startTimer(limits[limit], () => stop(limit, limits[limit]));
    const endTotal = startTotalTimer(deadline, startTimer, () => stop('total', deadline.limitMs));
    const end = (): void => {
      endTotal();
      release();
    };
    const endConnect = startTimer(limits.connect, () => {
      if (progress.phase === 'nothing') stop('connect', limits.connect);
    });
    let endFirst = start('firstByte');
    const onUploadChunk = (): void => {
      endFirst();
      endFirst = start('firstByte');
    };
    const body = request.body instanceof Uint8Array ? request.body : observeUpload(request.body, onUploadChunk);
    try {
      const response = await next({ ...request, body, signal });
      if (!response.completeBody) return { ...response, body: readWithIdleLimit(response, start, signal, end) };
      end();
      return response;
    } catch (error) {
      end();
      throw signal.aborted ? signal.reason : error;
    } finally {
      endConnect();
      endFirst();
    }
  };
}

function startTotalTimer({ remainingMs }: Deadline, startTimer: StartTimer, action: () => void): () => void {
  const delayMs = remainingMs();
  return delayMs === Number.POSITIVE_INFINITY ? () => {} : startTimer(delayMs, action);
}

// An upload that makes progress is not silent, however long it takes.
function observeUpload(body: Exclude<RequestBody, Uint8Array>, onUploadChunk: () => void): RequestBody {
  return {
    length: body.length,
    chunks: async function* () {
      for await (const chunk of bodyChunks(body)) {
        onUploadChunk();
        yield chunk;
      }
    },
  };
}

async function* readWithIdleLimit(
  { body }: Response,
  start: (limit: keyof TimeLimits) => () => void,
  signal: AbortSignal,
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
