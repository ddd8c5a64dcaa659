import type { Deadline } from './deadline.ts';
import { linkedTo } from './linked.ts';
import type { Body, Layer, Reply } from './message.ts';
import { type Progress, piecesOf } from './progress.ts';

/** How long the parts of an exchange may take, in milliseconds. */
export interface Limits {
  /** Until the request begins to leave: name lookup, connection, TLS, proxies. */
  readonly connect: number;
  /** Without a byte of the answer, or of the request while it leaves. */
  readonly firstByte: number;
  /** Between two pieces of the answer. */
  readonly idle: number;
}

/** The limits of PRODUCT.md section 4 but the total, which is a deadline over all attempts. */
export const usualLimits = { connect: 10_000, firstByte: 600_000, idle: 120_000 } as const;

/** An exchange took too long; `limit` says which limit it was. */
export class LimitReached extends Error {
  override readonly name = 'LimitReached';
  readonly limit: keyof Limits | 'total';
  readonly milliseconds: number;

  constructor(limit: keyof Limits | 'total', milliseconds: number) {
    super(`the ${limit} limit of ${milliseconds} ms was reached`);
    this.limit = limit;
    this.milliseconds = milliseconds;
  }
}

export type After = (milliseconds: number, action: () => void) => () => void;

/** Ends an exchange with LimitReached when one of its limits or the deadline is reached, the reading of the answer included. */
export function withLimits(limits: Limits, deadline: Deadline, progress: Progress, after: After): Layer {
  return (next) => async (request) => {
    const { controller, release } = linkedTo([request.signal]);
    const { signal } = controller;
    const stop = (limit: LimitReached['limit'], milliseconds: number): void =>
      controller.abort(new LimitReached(limit, milliseconds));
    const start = (limit: keyof Limits): (() => void) => after(limits[limit], () => stop(limit, limits[limit]));
    const endTotal = untilEnd(deadline, after, () => stop('total', deadline.milliseconds));
    const end = (): void => {
      endTotal();
      release();
    };
    const endConnect = after(limits.connect, () => {
      if (progress.phase === 'nothing') stop('connect', limits.connect);
    });
    let endFirst = start('firstByte');
    const again = (): void => {
      endFirst();
      endFirst = start('firstByte');
    };
    const body = request.body instanceof Uint8Array ? request.body : heard(request.body, again);
    try {
      const reply = await next({ ...request, body, signal });
      if (!reply.whole) return { ...reply, body: limited(reply, start, signal, end) };
      end();
      return reply;
    } catch (error) {
      end();
      throw signal.aborted ? signal.reason : error;
    } finally {
      endConnect();
      endFirst();
    }
  };
}

function untilEnd({ left }: Deadline, after: After, action: () => void): () => void {
  const milliseconds = left();
  return milliseconds === Number.POSITIVE_INFINITY ? () => {} : after(milliseconds, action);
}

// An upload that goes on is no silence, however long it takes.
function heard(body: Exclude<Body, Uint8Array>, again: () => void): Body {
  return {
    length: body.length,
    pieces: async function* () {
      for await (const piece of piecesOf(body)) {
        again();
        yield piece;
      }
    },
  };
}

async function* limited(
  { body }: Reply,
  start: (limit: keyof Limits) => () => void,
  signal: AbortSignal,
  end: () => void,
): AsyncGenerator<Uint8Array> {
  let endIdle = start('firstByte');
  try {
    for await (const piece of body) {
      endIdle();
      yield piece;
      endIdle = start('idle');
    }
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  } finally {
    endIdle();
    end();
  }
}
