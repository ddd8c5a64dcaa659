import type { AttemptTurn } from '../../client/request.ts';
import { type Failure, InterruptedError } from '../../errors.ts';
import { type ExchangeSignal, linkSignal } from '../../http/message.ts';
import { pluralize } from '../../json/pluralize.ts';
import { formatSeconds } from '../../output/transfer-text.ts';
import type { Runtime } from '../../runtime.ts';
import type { BatchOptions } from '../batch-options.ts';
import { type AvailabilityHooks, createAvailability, notSentFailure } from './availability.ts';
import { type ConcurrencyRange, createConcurrencyLimit } from './concurrency.ts';

export type Scheduler = ReturnType<typeof createScheduler>;

/** The attempts of one line: at most one is in flight, and none while the line waits for a retry. */
export interface Turn extends AttemptTurn {
  /** Lets the next request go; none is sent before, so that no line is sent after a reason to stop. */
  readonly release: () => void;
  /** The failure of the line: one that waited in vain was not sent. */
  readonly toOutcome: (failure: Failure) => Failure;
}

// Lines that are being prepared, wait for a retry or for their turn to be written, besides those in flight.
const LINES_PER_REQUEST = 4;
const ORDERED_LINES_PER_REQUEST = 16;

const MAX_TIMER_MS = 2 ** 31 - 1;
// A timer may be this late; the rate catches up.
const MAX_CATCH_UP_MS = 50;
const MIN_SHOWN_WAIT_MS = 1000;

// A longer Retry-After stops the batch: the rest is better sent later.
const MAX_BATCH_WAIT_MS = 60_000;
const MIN_LINES_FOR_PERCENTAGE = 20;

export interface SchedulerHooks {
  readonly onOutage: AvailabilityHooks['onOutage'];
  /** The batch takes no further line. */
  readonly onStop: () => void;
}

/**
 * Decides when a line is read, when a request is sent, whether it is retried, and when the batch stops. How many requests may be
 * in flight is that of concurrency.ts, and one while the service cannot be used (availability.ts).
 */
export function createScheduler(
  { rate, isFailFast, maxFailures, isOrdered, ...options }: BatchOptions,
  range: ConcurrencyRange,
  { elapsed, after, randomBytes }: Pick<Runtime, 'elapsed' | 'after' | 'randomBytes'>,
  signal: ExchangeSignal | undefined,
  { onOutage, onStop }: SchedulerHooks,
) {
  const stopSignal = linkSignal(signal);
  const waiters = new Set<{ readonly admit: () => void; readonly reject: (failure: Failure) => void }>();
  const linesPerRequest = isOrdered ? ORDERED_LINES_PER_REQUEST : LINES_PER_REQUEST;
  const concurrency = createConcurrencyLimit(range, () => (randomBytes(1)[0] ?? 0) / 255);
  let activeLines = 0;
  let notifyLine = (): void => {};
  let active = 0;
  let nextSendAt = 0;
  let isTimerSet = false;
  let failureCount = 0;
  let outcomeCount = 0;
  let stopReason: string | undefined;

  const stop = (reason: string): void => {
    stopReason ??= reason;
    stopSignal.abort(new InterruptedError('SIGINT'));
    onStop();
  };
  const availability = createAvailability(
    { ...options, isFailFast },
    { elapsed, after },
    {
      onOutage,
      onGiveUp: stop,
      onRecovery: () => concurrency.restart(elapsed()),
    },
  );
  const currentLimit = (): number => (availability.isProbing() ? 1 : concurrency.current());
  const waitMs = (): number => Math.max(availability.notBefore(), nextSendAt) - elapsed();

  const admitWaiters = (): void => {
    for (const waiter of waiters) {
      if (active >= currentLimit()) return;
      const delayMs = waitMs();
      if (delayMs > 0) {
        admitLater(delayMs);
        return;
      }
      if (rate !== undefined) nextSendAt = Math.max(nextSendAt, elapsed() - MAX_CATCH_UP_MS) + 1000 / rate;
      waiters.delete(waiter);
      active += 1;
      waiter.admit();
    }
    notifyLine();
  };
  const admitLater = (delayMs: number): void => {
    if (isTimerSet) return;
    isTimerSet = true;
    after(Math.min(Math.ceil(delayMs), MAX_TIMER_MS), () => {
      isTimerSet = false;
      admitWaiters();
    });
  };
  stopSignal.signal.addEventListener('abort', () => {
    for (const { reject } of waiters) reject(notSentFailure());
    waiters.clear();
  });

  const onAttemptEnd = (failure: Failure | undefined, startedAt: number): void => {
    const isFull = active >= currentLimit();
    const wasProbing = availability.isProbing();
    availability.onAttemptEnd(failure, startedAt);
    if (wasProbing || availability.isProbing()) return;
    const retryAfterMs = failure?.facts.retryAfterMs ?? 0;
    if (failure && isOverload(failure)) concurrency.onOverload(elapsed(), retryAfterMs);
    else concurrency.onResponse(elapsed(), startedAt, isFull);
  };

  const createTurn = (): Turn => {
    let startedAt = 0;
    let isHeld = false;
    const release = (): void => {
      if (!isHeld) return;
      isHeld = false;
      active -= 1;
      admitWaiters();
    };
    return {
      acquire: async () => {
        release();
        await new Promise<void>((admit, reject) => {
          if (stopSignal.signal.aborted) return reject(notSentFailure());
          waiters.add({ admit, reject });
          admitWaiters();
        });
        isHeld = true;
        startedAt = elapsed();
      },
      report: (failure) => onAttemptEnd(failure, startedAt),
      release,
      canRetry: availability.canRetry,
      canWait: availability.canWait,
      toOutcome: availability.toOutcome,
    };
  };

  const exceedsMaxFailures = (): boolean => {
    if (!maxFailures || failureCount === 0) return false;
    if (!maxFailures.isPercentage) return failureCount > maxFailures.limit;
    return outcomeCount >= MIN_LINES_FOR_PERCENTAGE && (failureCount / outcomeCount) * 100 > maxFailures.limit;
  };
  const addOutcome = (
    outcome: { readonly failure?: Failure | undefined; readonly status: string },
    isRevised = false,
  ) => {
    const { failure, status } = outcome;
    if (status !== 'unsent' && !isRevised) outcomeCount += 1;
    if (failure && isFailFast) stop('a line failed (--fail-fast)');
    if (failure && status !== 'unsent') failureCount += 1;
    if (exceedsMaxFailures()) stop(`${failureCount} ${pluralize(failureCount, 'line')} failed (--max-failures)`);
    const retryAfterMs = failure?.facts.retryAfterMs ?? 0;
    if (retryAfterMs > MAX_BATCH_WAIT_MS) stop(`the service asks to wait ${Math.ceil(retryAfterMs / 1000)} s`);
  };

  const waitUntil = async (isMet: () => boolean): Promise<void> => {
    while (!isMet())
      await new Promise<void>((resolve) => {
        notifyLine = resolve;
      });
  };
  return {
    /** Waits until another line may be processed, and starts it; `work` must not throw. */
    start: async (work: () => Promise<void>): Promise<void> => {
      await waitUntil(() => activeLines < concurrency.current() * linesPerRequest);
      activeLines += 1;
      void work().finally(() => {
        activeLines -= 1;
        notifyLine();
      });
    },
    waitForAll: () => waitUntil(() => activeLines === 0),
    createTurn,
    /** What the batch does now, for its progress: requests that may be in flight, and what holds them there. */
    describeProgress: (): string => {
      const delayMs = waitMs();
      if (delayMs > MIN_SHOWN_WAIT_MS) return `waiting ${formatSeconds(delayMs / 1000)}: ${availability.reason()}`;
      if (availability.isProbing()) return `trying one request: ${availability.reason()}`;
      const limit = concurrency.current();
      if (concurrency.isGrowing()) return `${active} in flight, growing`;
      return concurrency.isHeldByRefusals() ? `held at ${limit}: the service refuses more` : `up to ${limit} in flight`;
    },
    /** The limit of requests in flight. */
    currentLimit,
    stop,
    stopReason: () => stopReason,
    /** Aborted when the batch stops taking lines; requests in flight continue. */
    stopSignal: stopSignal.signal,
    /** Counts the outcome of a line, or its revision, and stops the batch if the flags or the service require that. */
    addOutcome,
    skippedRetries: availability.skippedRetries,
  };
}

// Signs that the service has more to do than it can: rate limits, proofs of a refusal, any 503, a connection that was refused, timed
// out or reset.
function isOverload({ code, facts: { status, isTimedOut } }: Failure): boolean {
  if (code === 'rate_limited' || code === 'unreachable' || status === 503) return true;
  return code === 'unknown' && status === undefined && isTimedOut !== true;
}
