import type { ExchangeSignal } from '../http/exchange-signal.ts';
import type { Runtime } from '../runtime.ts';

/** The limits of a batch. */
export interface RateLimits {
  /** Maximum requests in flight. */
  readonly concurrency: number;
  /** Maximum requests per second; undefined for no limit. */
  readonly rate: number | undefined;
}

/** Decides when a request may be sent: by concurrency, by rate, and never while the service asks to wait. */
export interface RateLimiter {
  /** Waits until a request may be sent. Throws the reason of the signal once that is aborted. */
  readonly acquire: () => Promise<RateLimiterPermit>;
  /** Requests that may be in flight now: fewer than the maximum while the service is rate limited or down. */
  readonly currentLimit: () => number;
}

/** How a request ended, as far as the next ones are concerned; `down`: no connection could be made. */
export type RequestEnd = 'ok' | 'limited' | 'down';

/** The permission to send one request. */
export interface RateLimiterPermit {
  /** The request ended, and the service asked to wait `retryAfterMs`; the next one has to wait for `hold` to end. */
  readonly release: (end: RequestEnd, retryAfterMs?: number, hold?: PermitHold) => void;
}

/** Keeps the next request waiting after an attempt, until it is known whether the batch stops. */
export interface PermitHold {
  /** Calls `free` when the hold ends. */
  readonly begin: (free: () => void) => void;
  /** Does nothing without a hold. */
  readonly end: () => void;
}

/** The hold of one line, for all its attempts. */
export function createPermitHold(): PermitHold {
  let pending: (() => void) | undefined;
  return {
    begin: (free) => {
      // An attempt that was never ended must not keep its permit.
      pending?.();
      pending = free;
    },
    end: () => {
      pending?.();
      pending = undefined;
    },
  };
}

interface Waiter {
  readonly admit: () => void;
  readonly reject: (reason: unknown) => void;
}

// The longest wait of one timer.
const MAX_TIMER_MS = 2 ** 31 - 1;

// A timer may be this late; the rate catches up.
const MAX_CATCH_UP_MS = 50;

// While the service is down it is probed with one request at a time, at growing intervals.
const MIN_PROBE_INTERVAL_MS = 250;
const MAX_PROBE_INTERVAL_MS = 5000;

/**
 * Limits a batch by additive increase and multiplicative decrease: a rate-limited service halves the concurrency, once
 * for all requests in flight then; each full round of responses adds one. A service that is down leaves one.
 */
export function createRateLimiter(
  { concurrency, rate }: RateLimits,
  { elapsed, after }: Pick<Runtime, 'elapsed' | 'after'>,
  signal: ExchangeSignal,
): RateLimiter {
  const waiters = new Set<Waiter>();
  let limit = concurrency;
  let active = 0;
  let lastDecreaseAt = Number.NEGATIVE_INFINITY;
  let notBefore = 0;
  let nextSlotAt = 0;
  let isTimerSet = false;
  let failedProbes = 0;

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
      release: (end, retryAfterMs = 0, hold) => {
        const isFirstOfRound = startedAt >= lastDecreaseAt;
        if (end !== 'ok' && isFirstOfRound) lastDecreaseAt = elapsed();
        if (end === 'down') {
          if (isFirstOfRound) failedProbes += 1;
          limit = 1;
          const intervalMs = Math.min(MAX_PROBE_INTERVAL_MS, MIN_PROBE_INTERVAL_MS * 2 ** (failedProbes - 1));
          notBefore = Math.max(notBefore, elapsed() + intervalMs);
        } else failedProbes = 0;
        if (end === 'limited') {
          notBefore = Math.max(notBefore, elapsed() + retryAfterMs);
          if (isFirstOfRound) limit = Math.max(1, limit / 2);
        } else if (end === 'ok') limit = Math.min(concurrency, limit + 1 / limit);
        const free = (): void => {
          active -= 1;
          admitWaiters();
        };
        if (hold) hold.begin(free);
        else free();
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
        waiters.add({ admit: () => resolve(issuePermit()), reject });
        admitWaiters();
      }),
  };
}
