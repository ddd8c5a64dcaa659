import type { Runtime } from '../runtime.ts';

/** How fast a batch may go. */
export interface Speed {
  /** The most requests under way. */
  readonly concurrency: number;
  /** Requests a second; without it as fast as they are answered. */
  readonly rate: number | undefined;
}

/** Says when a request may leave: so many at once, so many a second, and none while the service asks to wait. */
export interface Pace {
  /** Waits for a turn and gives what it is to be ended with. Throws the reason of the signal when that is aborted. */
  readonly turn: () => Promise<Turn>;
  /** How many may be under way now: less than asked for while the service is short. */
  readonly allowed: () => number;
}

export interface Turn {
  /** The request was answered; `isShort`: the service had no room for it, and asked to wait so many milliseconds. */
  readonly end: (isShort: boolean, wait?: number) => void;
}

interface Waiter {
  readonly go: () => void;
  readonly stop: (reason: unknown) => void;
}

// Milliseconds a timer can be told to wait; after that the rest is waited for.
const LONGEST = 2 ** 31 - 1;

// Milliseconds that timers may be late and are made up for.
const LATE = 50;

/**
 * The pace of a batch: additive increase, multiplicative decrease. A service that is short halves what is allowed, once
 * for all requests that were under way then; as many answers as are allowed bring one back.
 */
export function paceOf(
  { concurrency, rate }: Speed,
  { elapsed, after }: Pick<Runtime, 'elapsed' | 'after'>,
  signal: AbortSignal,
): Pace {
  const waiting = new Set<Waiter>();
  let allowed = concurrency;
  let active = 0;
  let lastDecrease = Number.NEGATIVE_INFINITY;
  let notBefore = 0;
  let nextByRate = 0;
  let isTimed = false;

  const pump = (): void => {
    for (const waiter of waiting) {
      if (active >= Math.floor(allowed)) return;
      const now = elapsed();
      const wait = Math.max(notBefore, nextByRate) - now;
      if (wait > 0) {
        later(wait);
        return;
      }
      if (rate !== undefined) nextByRate = Math.max(nextByRate, now - LATE) + 1000 / rate;
      waiting.delete(waiter);
      active += 1;
      waiter.go();
    }
  };
  const later = (milliseconds: number): void => {
    if (isTimed) return;
    isTimed = true;
    after(Math.min(Math.ceil(milliseconds), LONGEST), () => {
      isTimed = false;
      pump();
    });
  };
  const turn = (): Turn => {
    const begun = elapsed();
    return {
      end: (isShort, wait = 0) => {
        active -= 1;
        if (isShort) {
          notBefore = Math.max(notBefore, elapsed() + wait);
          if (begun >= lastDecrease) {
            allowed = Math.max(1, allowed / 2);
            lastDecrease = elapsed();
          }
        } else allowed = Math.min(concurrency, allowed + 1 / allowed);
        pump();
      },
    };
  };
  signal.addEventListener('abort', () => {
    for (const { stop } of waiting) stop(signal.reason);
    waiting.clear();
  });
  return {
    allowed: () => Math.floor(allowed),
    turn: () =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason);
        waiting.add({ go: () => resolve(turn()), stop: reject });
        pump();
      }),
  };
}
