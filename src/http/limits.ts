import type { Layer, Reply } from './message.ts';
import type { Progress } from './progress.ts';

/** How long an exchange may take, in milliseconds; without a total there is no limit on the whole. */
export interface Limits {
  /** Until the request begins to leave: name lookup, connection, TLS, proxies. */
  readonly connect: number;
  /** Without a byte of the answer. */
  readonly firstByte: number;
  /** Between two pieces of the answer. */
  readonly idle: number;
  readonly total: number | undefined;
}

/** The limits of PRODUCT.md section 4, all but the total. */
export const usualLimits = { connect: 10_000, firstByte: 600_000, idle: 120_000 } as const;

/** An exchange took too long; `limit` says which limit it was. */
export class LimitReached extends Error {
  override readonly name = 'LimitReached';
  readonly limit: keyof Limits;
  readonly milliseconds: number;

  constructor(limit: keyof Limits, milliseconds: number) {
    super(`the ${limit} limit of ${milliseconds} ms was reached`);
    this.limit = limit;
    this.milliseconds = milliseconds;
  }
}

export type After = (milliseconds: number, action: () => void) => () => void;

/** Ends an exchange with LimitReached when one of its limits is reached, the reading of the answer included. */
export function withLimits(limits: Limits, progress: Progress, after: After): Layer {
  return (next) => async (request) => {
    const controller = new AbortController();
    const stop = (limit: keyof Limits, milliseconds: number): void =>
      controller.abort(new LimitReached(limit, milliseconds));
    const start = (limit: keyof Limits): (() => void) => {
      const milliseconds = limits[limit];
      return milliseconds === undefined ? () => {} : after(milliseconds, () => stop(limit, milliseconds));
    };
    const endTotal = start('total');
    const endConnect = after(limits.connect, () => {
      if (progress.phase === 'nothing') stop('connect', limits.connect);
    });
    const endFirst = start('firstByte');
    const signal = request.signal ? AbortSignal.any([request.signal, controller.signal]) : controller.signal;
    try {
      const reply = await next({ ...request, signal });
      endFirst();
      return { ...reply, body: limited(reply, start, controller.signal, endTotal) };
    } catch (error) {
      endTotal();
      throw signal.aborted ? signal.reason : error;
    } finally {
      endConnect();
      endFirst();
    }
  };
}

async function* limited(
  { body }: Reply,
  start: (limit: keyof Limits) => () => void,
  signal: AbortSignal,
  done: () => void,
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
    done();
  }
}
