import type { Runtime } from '../runtime.ts';

/** How fast a batch may go. */
export interface RateLimits {
  /** The most requests under way. */
  readonly concurrency: number;
  /** Requests a second; without it as fast as they are answered. */
  readonly rate: number | undefined;
}

/** Says when a request may leave: so many at once, so many a second, and none while the service asks to wait. */
export interface RateLimiter {
  /** Waits for a turn and gives what it is to be ended with. Throws the reason of the signal when that is aborted. */
  readonly acquire: () => Promise<RateLimiterPermit>;
  /** How many may be under way now: less than asked for while the service is short. */
  readonly currentLimit: () => number;
}

export interface RateLimiterPermit {
  /** The request was answered; `isShort`: the service had no room for it, and asked to wait so many milliseconds. */
  readonly release: (isRateLimited: boolean, retryAfterMs?: number) => void;
}

interface Waiter {
  readonly admit: () => void;
  readonly reject: (reason: unknown) => void;
}

// Milliseconds a timer can be told to wait; after that the rest is waited for.
const MAX_TIMER_MS = 2 ** 31 - 1;

// Milliseconds that timers may be late and are made up for.
const MAX_CATCH_UP_MS = 50;

/**
 * The pace of a batch: additive increase, multiplicative decrease. A service that is short halves what is allowed, once
 * for all requests that were under way then; as many answers as are allowed bring one back.
 */
export function createRateLimiter(
  { concurrency, rate }: RateLimits,
  { elapsed, after }: Pick<Runtime, 'elapsed' | 'after'>,
  signal: AbortSignal,
): RateLimiter {
  const waiters = new Set<Waiter>();
  let limit = concurrency;
  let active = 0;
  let lastDecreaseAt = Number.NEGATIVE_INFINITY;
  let notBefore = 0;
  let nextSlotAt = 0;
  let isTimerSet = false;

  const admitWaiters = (): void => {
    for (const waiter of waiters) {
      if (active >= Math.floor(limit)) return;
      const now = elapsed();
      const wait = Math.max(notBefore, nextSlotAt) - now;
      if (wait > 0) {
        admitLater(wait);
        return;
      }
      if (rate !== undefined) nextSlotAt = Math.max(nextSlotAt, now - MAX_CATCH_UP_MS) + 1000 / rate;
      waiters.delete(waiter);
      active += 1;
      waiter.admit();
    }
  };
  const admitLater = (delayMs: number): void => {
    if (isTimerSet) return;
    isTimerSet = true;
    after(Math.min(Math.ceil(delayMs), MAX_TIMER_MS), () => {
      isTimerSet = false;
      admitWaiters();
    });
  };
  const issuePermit = (): RateLimiterPermit => {
    const startedAt = elapsed();
    return {
      release: (isRateLimited, wait = 0) => {
        active -= 1;
        if (isRateLimited) {
          notBefore = Math.max(notBefore, elapsed() + wait);
          if (startedAt >= lastDecreaseAt) {
            limit = Math.max(1, limit / 2);
            lastDecreaseAt = elapsed();
          }
        } else limit = Math.min(concurrency, limit + 1 / limit);
        admitWaiters();
      },
    };
  };
  signal.addEventListener('abort', () => {
    for (const { reject } of waiters) reject(signal.reason);
    waiters.clear();
  });
  return {
    currentLimit: () => Math.floor(limit),
    acquire: () =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason);
        waiters.add({ admit: () => resolve(issuePermit()), reject: reject });
        admitWaiters();
      }),
  };
}
