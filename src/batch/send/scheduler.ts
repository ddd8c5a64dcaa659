import type { AttemptTurn } from '../../client/request.ts';
import { Failure, InterruptedError } from '../../errors.ts';
import { type ExchangeSignal, linkSignal } from '../../http/message.ts';
import { pluralize } from '../../json/pluralize.ts';
import type { Runtime } from '../../runtime.ts';
import type { BatchOptions } from '../batch-options.ts';

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

// While the service is down it is probed with one request at a time, at growing intervals.
const MIN_PROBE_INTERVAL_MS = 250;
const MAX_PROBE_INTERVAL_MS = 5000;
// After a refusal, which other lines may end soon, the first pause is shorter.
const MIN_REFUSAL_PAUSE_MS = 50;

// So many attempts that failed for the service's reasons leave no hope for retries.
const MAX_SERVICE_FAILURES = 20;

// A longer Retry-After stops the batch: the rest is better sent later.
const MAX_BATCH_WAIT_MS = 60_000;
const MIN_LINES_FOR_PERCENTAGE = 20;

/**
 * Decides when a line is read, when a request is sent, whether it is retried, and when the batch stops. A rate-limited service
 * halves the concurrency, once for all requests in flight then; each full round of responses adds one. A service that is down
 * leaves one, and after `maxOutageMs` stops the batch; a permanent cause at once, unless a connection was made before.
 */
export function createScheduler(
  { concurrency, rate, maxOutageMs, outageFlag, isFailFast, maxFailures, isOrdered }: BatchOptions,
  { elapsed, after }: Pick<Runtime, 'elapsed' | 'after'>,
  signal: ExchangeSignal | undefined,
  { onOutage, onStop }: { readonly onOutage: (failure: Failure, limit: string) => void; readonly onStop: () => void },
) {
  const stopSignal = linkSignal(signal);
  const waiters = new Set<{ readonly admit: () => void; readonly reject: (failure: Failure) => void }>();
  const maxLines = concurrency * (isOrdered ? ORDERED_LINES_PER_REQUEST : LINES_PER_REQUEST);
  let activeLines = 0;
  let notifyLine = (): void => {};
  let limit = concurrency;
  let active = 0;
  let lastDecreaseAt = Number.NEGATIVE_INFINITY;
  let notBefore = 0;
  let nextSendAt = 0;
  let isTimerSet = false;
  let failedProbes = 0;
  let serviceFailures = 0;
  let skippedRetries = 0;
  let failureCount = 0;
  let outcomeCount = 0;
  let stopReason: string | undefined;
  let outage: Failure | undefined;
  let refusedRounds = 0;
  let refusedSince: number | undefined;
  let hasGivenUp = false;
  let hasConnected = false;
  let cancelOutage = (): void => {};
  const maxOutage = `${maxOutageMs / 1000} s${outageFlag && ` (${outageFlag})`}`;

  const admitWaiters = (): void => {
    for (const waiter of waiters) {
      if (active >= Math.floor(limit)) return;
      const now = elapsed();
      const waitMs = Math.max(notBefore, nextSendAt) - now;
      if (waitMs > 0) {
        admitLater(waitMs);
        return;
      }
      if (rate !== undefined) nextSendAt = Math.max(nextSendAt, now - MAX_CATCH_UP_MS) + 1000 / rate;
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
  stopSignal.signal.addEventListener('abort', () => {
    for (const { reject } of waiters) reject(notSentFailure());
    waiters.clear();
  });

  const stop = (reason: string): void => {
    stopReason ??= reason;
    stopSignal.abort(new InterruptedError('SIGINT'));
    onStop();
  };
  const giveUp = (reason: string): void => {
    cancelOutage();
    hasGivenUp = true;
    stop(reason);
  };
  // The next probe may be later than the end of the time.
  const giveUpAt = (end: number): void => {
    const remainingMs = end - elapsed();
    if (remainingMs > 0) cancelOutage = after(remainingMs, () => giveUpAt(end));
    else if (outage) {
      const { url = '', reason } = outage.facts;
      giveUp(`could not connect for ${maxOutage} to ${new URL(url).origin}: ${reason}`);
    }
  };
  const onFailedConnect = (failure: Failure): void => {
    if (hasGivenUp) return;
    const isFirst = outage === undefined;
    outage = failure;
    const { isPermanent, isTimedOut, status } = failure.facts;
    // A proxy that responds has no outage.
    if (isPermanent && !isTimedOut && (!hasConnected || status === 407)) giveUp(failure.message);
    else if (isFirst) {
      onOutage(failure, maxOutage);
      giveUpAt(elapsed() + maxOutageMs);
    }
  };

  // Lines that are refused with a proof wait, until no request got through for `maxOutageMs`.
  const onRefusalOrSuccess = (failure: Failure | undefined, isFirstOfRound: boolean): void => {
    if (failure && !isProvenRefusal(failure)) return;
    refusedSince = failure ? (refusedSince ?? elapsed()) : undefined;
    if (!failure) refusedRounds = 0;
    else if (isFirstOfRound) {
      refusedRounds += 1;
      const pauseMs = Math.min(MAX_PROBE_INTERVAL_MS, MIN_REFUSAL_PAUSE_MS * 2 ** (refusedRounds - 1));
      notBefore = Math.max(notBefore, elapsed() + pauseMs);
    }
    if (refusedSince !== undefined && maxOutageMs > 0 && elapsed() - refusedSince > maxOutageMs)
      giveUp(`the service refused every request for ${maxOutage}: ${failure?.message}`);
  };

  const onAttemptEnd = (failure: Failure | undefined, startedAt: number): void => {
    const isDown = failure !== undefined && maxOutageMs > 0 && isConnectFailure(failure);
    const isLimited = failure?.code === 'rate_limited' || failure?.code === 'unreachable';
    const isFirstOfRound = startedAt >= lastDecreaseAt;
    onRefusalOrSuccess(failure, isFirstOfRound);
    serviceFailures = failure && isServiceFailure(failure) ? serviceFailures + 1 : 0;
    if ((isDown || isLimited) && isFirstOfRound) lastDecreaseAt = elapsed();
    if (isDown) {
      onFailedConnect(failure);
      if (isFirstOfRound) failedProbes += 1;
      limit = 1;
      const intervalMs = Math.min(MAX_PROBE_INTERVAL_MS, MIN_PROBE_INTERVAL_MS * 2 ** (failedProbes - 1));
      notBefore = Math.max(notBefore, elapsed() + intervalMs);
      return;
    }
    hasConnected = true;
    outage = undefined;
    cancelOutage();
    failedProbes = 0;
    if (isLimited) {
      notBefore = Math.max(notBefore, elapsed() + (failure.facts.retryAfterMs ?? 0));
      if (isFirstOfRound) limit = Math.max(1, limit / 2);
    } else limit = Math.min(concurrency, limit + 1 / limit);
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
      canRetry: (failure) => {
        if (serviceFailures < MAX_SERVICE_FAILURES || !isServiceFailure(failure)) return true;
        skippedRetries += 1;
        return false;
      },
      canWait: (failure) => maxOutageMs > 0 && !hasGivenUp && (isConnectFailure(failure) || isProvenRefusal(failure)),
      toOutcome: (failure) => (hasGivenUp && isConnectFailure(failure) ? notSentFailure() : failure),
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
      await waitUntil(() => activeLines < maxLines);
      activeLines += 1;
      void work().finally(() => {
        activeLines -= 1;
        notifyLine();
      });
    },
    waitForAll: () => waitUntil(() => activeLines === 0),
    createTurn,
    /** Requests that may be in flight now: fewer than the maximum while the service is rate limited or down. */
    currentLimit: () => Math.floor(limit),
    stop,
    stopReason: () => stopReason,
    /** Aborted when the batch stops taking lines; requests in flight continue. */
    stopSignal: stopSignal.signal,
    /** Counts the outcome of a line, or its revision, and stops the batch if the flags or the service require that. */
    addOutcome,
    /** Waits for the turn to hold a large response: one at a time, so that memory does not grow with the concurrency. */
    takeLargeTurn: createTurns(),
    skippedRetries: () => skippedRetries,
  };
}

/** A function that waits for its turn, in the order of the calls; its result ends the turn. */
export function createTurns(): () => Promise<() => void> {
  let lastTurn = Promise.resolve();
  return () => {
    const turn = lastTurn;
    let endTurn = (): void => {};
    lastTurn = new Promise((resolve) => {
      endTurn = resolve;
    });
    return turn.then(() => endTurn);
  };
}

function isConnectFailure({ code, facts }: Failure): boolean {
  return code === 'unreachable' && facts.phase === 'nothing';
}

function isProvenRefusal({ resend, facts }: Failure): boolean {
  return facts.isProvenRefusal === true && resend.isRetryable;
}

// Not a rate limit, which has a remedy of its own.
function isServiceFailure({ code }: Failure): boolean {
  return code === 'failed' || code === 'unknown' || code === 'unreachable';
}

function notSentFailure(): Failure {
  return new Failure('interrupted', 'not sent', { applied: 'no', isPermanent: true });
}
