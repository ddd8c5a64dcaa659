import type { AttemptTurn } from '../../client/request.ts';
import { type Failure, InterruptedError } from '../../errors.ts';
import { type ExchangeSignal, linkSignal } from '../../http/message.ts';
import { pluralize } from '../../json/pluralize.ts';
import { formatSeconds } from '../../output/transfer-text.ts';
import type { LineStatus } from '../../reports/batch/line-facts.ts';
import type { Runtime } from '../../runtime.ts';
import type { BatchOptions } from '../batch-options.ts';
import { type AvailabilityHooks, createAvailability, notSentFailure } from './availability.ts';
import { createBudget, type Spending } from './budget.ts';
import { type ConcurrencyRange, createConcurrencyLimit } from './concurrency.ts';

export type Scheduler = ReturnType<typeof createScheduler>;

/** The attempts of one line: at most one is in flight, and none while the line waits for a retry. */
export interface Turn extends AttemptTurn {
  /** Lets the next request go; none is sent before, so that no line is sent after a reason to stop. */
  readonly release: () => void;
  /** Counts what the response used, before the turn is released. */
  readonly spend: (spending: Spending, status: LineStatus) => void;
  /** The failure of the line: one that waited in vain was not sent. */
  readonly toOutcome: (failure: Failure) => Failure;
}

// Of a line, until a response says how many tokens it used.
const BYTES_PER_TOKEN = 4;

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
  options: BatchOptions,
  range: ConcurrencyRange,
  { elapsed, after, randomBytes }: Pick<Runtime, 'elapsed' | 'after' | 'randomBytes'>,
  signal: ExchangeSignal | undefined,
  { onOutage, onStop }: SchedulerHooks,
) {
  const stopSignal = linkSignal(signal);
  let stopReason: string | undefined;
  const stop = (reason: string): void => {
    stopReason ??= reason;
    stopSignal.abort(new InterruptedError('SIGINT'));
    onStop();
  };
  const concurrency = createConcurrencyLimit(range, () => (randomBytes(1)[0] ?? 0) / 255);
  const onRecovery = (): void => concurrency.restart(elapsed());
  const availability = createAvailability(options, { elapsed, after }, { onOutage, onGiveUp: stop, onRecovery });
  const { canRetry, canWait, toOutcome, skippedRetries } = availability;
  const budget = createBudget(options);
  const pace = createPace(options, elapsed);
  const linesPerRequest = options.isOrdered ? ORDERED_LINES_PER_REQUEST : LINES_PER_REQUEST;
  const lines = createLines(() => concurrency.current() * linesPerRequest);
  const gate: Gate = {
    limit: () => (availability.isProbing() ? 1 : concurrency.current()),
    waitMs: () => Math.max(availability.notBefore(), pace.nextSendAt()) - elapsed(),
    hasRoom: budget.hasRoom,
    onAllAdmitted: lines.notify,
  };
  const queue = createQueue(gate, stopSignal.signal, after);
  const onAttemptEnd = (failure: Failure | undefined, startedAt: number): void => {
    const isFull = queue.active() >= gate.limit();
    const wasProbing = availability.isProbing();
    availability.onAttemptEnd(failure, startedAt);
    if (wasProbing || availability.isProbing()) return;
    const retryAfterMs = failure?.facts.retryAfterMs ?? 0;
    if (failure && isOverload(failure)) concurrency.onOverload(elapsed(), retryAfterMs);
    else concurrency.onResponse(elapsed(), startedAt, isFull);
  };
  const onSpent = (spending: Spending, status: LineStatus, expectedTokens: number): void => {
    budget.add(spending, status === 'unknown');
    const reason = budget.reached();
    if (reason !== undefined) stop(reason);
    if (spending.tokens !== undefined) pace.learn(spending.tokens);
    if (status === 'done' || status === 'unknown') pace.correct(expectedTokens, spending.tokens);
  };
  return {
    start: lines.start,
    waitForAll: lines.waitForAll,
    createTurn: (bytes = 0): Turn => ({
      ...createTurn(queue, elapsed, { onAdmit: () => pace.take(bytes), onAttemptEnd, onSpent }),
      ...{ canRetry, canWait, toOutcome },
    }),
    /** What the batch does now, for its progress: requests that may be in flight, and what holds them there. */
    describeProgress: (): string => {
      const delayMs = gate.waitMs();
      if (delayMs > MIN_SHOWN_WAIT_MS) return `waiting ${formatSeconds(delayMs / 1000)}: ${availability.reason()}`;
      if (availability.isProbing()) return `trying one request: ${availability.reason()}`;
      const limit = concurrency.current();
      if (concurrency.isGrowing()) return `${queue.active()} in flight, growing`;
      return concurrency.isHeldByRefusals() ? `held at ${limit}: the service refuses more` : `up to ${limit} in flight`;
    },
    /** The limit of requests in flight. */
    currentLimit: gate.limit,
    stop,
    stopReason: () => stopReason,
    /** Aborted when the batch stops taking lines; requests in flight continue. */
    stopSignal: stopSignal.signal,
    addOutcome: createStopRules(options, stop),
    skippedRetries,
  };
}

function createLines(limit: () => number) {
  let active = 0;
  let notify = (): void => {};
  const waitUntil = async (isMet: () => boolean): Promise<void> => {
    while (!isMet())
      await new Promise<void>((resolve) => {
        notify = resolve;
      });
  };
  return {
    /** Waits until another line may be processed, and starts it; `work` must not throw. */
    start: async (work: () => Promise<void>): Promise<void> => {
      await waitUntil(() => active < limit());
      active += 1;
      void work().finally(() => {
        active -= 1;
        notify();
      });
    },
    waitForAll: () => waitUntil(() => active === 0),
    /** Looks at the limit again. */
    notify: () => notify(),
  };
}

interface Gate {
  /** How many requests may be in flight. */
  readonly limit: () => number;
  /** How long until the next one may be sent. */
  readonly waitMs: () => number;
  readonly hasRoom: (inFlight: number) => boolean;
  readonly onAllAdmitted: () => void;
}

// The requests that wait to be sent, in order, and the number of those in flight.
function createQueue(gate: Gate, stopSignal: ExchangeSignal, after: Runtime['after']) {
  const waiters = new Set<{ readonly admit: () => void; readonly reject: (failure: Failure) => void }>();
  let active = 0;
  let isTimerSet = false;
  const admitAll = (): void => {
    for (const waiter of waiters) {
      if (active >= gate.limit()) return;
      const delayMs = gate.waitMs();
      if (delayMs > 0) {
        admitLater(delayMs);
        return;
      }
      if (!gate.hasRoom(active)) return;
      waiters.delete(waiter);
      active += 1;
      waiter.admit();
    }
    gate.onAllAdmitted();
  };
  const admitLater = (delayMs: number): void => {
    if (isTimerSet) return;
    isTimerSet = true;
    after(Math.min(Math.ceil(delayMs), MAX_TIMER_MS), () => {
      isTimerSet = false;
      admitAll();
    });
  };
  stopSignal.addEventListener('abort', () => {
    for (const { reject } of waiters) reject(notSentFailure());
    waiters.clear();
  });
  return {
    active: () => active,
    /** Calls `onAdmit` once a request may be sent. Throws the Failure of one that is not sent. */
    enter: (onAdmit: () => void): Promise<void> =>
      new Promise((resolve, reject) => {
        if (stopSignal.aborted) return reject(notSentFailure());
        const admit = (): void => resolve(onAdmit());
        waiters.add({ admit, reject });
        admitAll();
      }),
    leave: (): void => {
      active -= 1;
      admitAll();
    },
  };
}

interface TurnHooks {
  /** The tokens that the request, which is sent now, is expected to use. */
  readonly onAdmit: () => number;
  readonly onAttemptEnd: (failure: Failure | undefined, startedAt: number) => void;
  readonly onSpent: (spending: Spending, status: LineStatus, expectedTokens: number) => void;
}

function createTurn(
  { enter, leave }: Pick<ReturnType<typeof createQueue>, 'enter' | 'leave'>,
  elapsed: Runtime['elapsed'],
  { onAdmit, onAttemptEnd, onSpent }: TurnHooks,
) {
  let startedAt = 0;
  let expectedTokens = 0;
  let isHeld = false;
  const release = (): void => {
    if (isHeld) leave();
    isHeld = false;
  };
  return {
    acquire: async (): Promise<void> => {
      release();
      await enter(() => {
        expectedTokens = onAdmit();
      });
      isHeld = true;
      startedAt = elapsed();
    },
    report: (failure: Failure | undefined): void => onAttemptEnd(failure, startedAt),
    spend: (spending: Spending, status: LineStatus): void => onSpent(spending, status, expectedTokens),
    release,
  };
}

// The time of the next request by `--rate` and `--token-rate`.
function createPace({ rate, tokenRate }: Pick<BatchOptions, 'rate' | 'tokenRate'>, elapsed: Runtime['elapsed']) {
  const msPerRequest = rate ? 1000 / rate : 0;
  const msPerToken = tokenRate ? 1000 / tokenRate : 0;
  const used = { tokens: 0, responses: 0 };
  let nextSendAt = 0;
  const delay = (milliseconds: number): void => {
    if (milliseconds !== 0) nextSendAt = Math.max(nextSendAt, elapsed() - MAX_CATCH_UP_MS) + milliseconds;
  };
  return {
    nextSendAt: () => nextSendAt,
    /** Counts a request of so many bytes, and returns the tokens that it is expected to use. */
    take: (bytes: number): number => {
      const tokens = used.responses > 0 ? used.tokens / used.responses : bytes / BYTES_PER_TOKEN;
      delay(Math.max(msPerRequest, msPerToken * tokens));
      return tokens;
    },
    /** Corrects what was expected of a request that may have been applied. */
    correct: (expectedTokens: number, tokens = expectedTokens): void => delay(msPerToken * (tokens - expectedTokens)),
    learn: (tokens: number): void => {
      used.tokens += tokens;
      used.responses += 1;
    },
  };
}

/** Counts the outcome of a line, or its revision, and stops the batch if the flags or the service require that. */
function createStopRules({ isFailFast, maxFailures }: BatchOptions, stop: (reason: string) => void) {
  let failures = 0;
  let outcomes = 0;
  const exceedsMaxFailures = (): boolean => {
    if (!maxFailures || failures === 0) return false;
    if (!maxFailures.isPercentage) return failures > maxFailures.limit;
    return outcomes >= MIN_LINES_FOR_PERCENTAGE && (failures / outcomes) * 100 > maxFailures.limit;
  };
  return (
    { failure, status }: { readonly failure?: Failure | undefined; readonly status: string },
    isRevised = false,
  ): void => {
    if (status !== 'unsent' && !isRevised) outcomes += 1;
    if (failure && isFailFast) stop('a line failed (--fail-fast)');
    if (failure && status !== 'unsent') failures += 1;
    if (exceedsMaxFailures()) stop(`${failures} ${pluralize(failures, 'line')} failed (--max-failures)`);
    const retryAfterMs = failure?.facts.retryAfterMs ?? 0;
    if (retryAfterMs > MAX_BATCH_WAIT_MS) stop(`the service asks to wait ${Math.ceil(retryAfterMs / 1000)} s`);
  };
}

// Signs that the service has more to do than it can: rate limits, proofs of a refusal, any 503, a connection that was refused, timed
// out or reset.
function isOverload({ code, facts: { status, isTimedOut } }: Failure): boolean {
  if (code === 'rate_limited' || code === 'unreachable' || status === 503) return true;
  return code === 'unknown' && status === undefined && isTimedOut !== true;
}
