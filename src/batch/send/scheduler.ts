import type { AttemptTurn } from '../../client/request.ts';
import { type Failure, InterruptedError } from '../../errors.ts';
import { type ExchangeSignal, linkSignal } from '../../http/message.ts';
import { formatSeconds } from '../../output/transfer-text.ts';
import { type Hold, holds, type LineStatus } from '../../reports/batch/line-facts.ts';
import type { Runtime } from '../../runtime.ts';
import type { BatchOptions } from '../batch-options.ts';
import { type AvailabilityHooks, createAvailability, notSentFailure } from './availability.ts';
import { createBudget, type Spending } from './budget.ts';
import { type ConcurrencyRange, createConcurrencyLimit } from './concurrency.ts';
import { createStopRules } from './stop-rules.ts';

export type Scheduler = ReturnType<typeof createScheduler>;

/** The attempts of one line: at most one is in flight, and none while the line waits for a retry. */
export interface Turn extends AttemptTurn {
  /** Lets the next request go; none is sent before, so that no line is sent after a reason to stop. */
  readonly release: () => void;
  /** What the last attempt, or the line, waited for; undefined for nothing, and while a larger limit is tried. */
  readonly heldBy: () => Hold | undefined;
  /** Counts what the response used, before the turn is released. */
  readonly spend: (spending: Spending, status: LineStatus) => void;
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

export interface SchedulerHooks {
  /** The batch begins to wait for the service, or no longer slows down for it: the text says why. */
  readonly onNotice: AvailabilityHooks['onOutage'];
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
  { onNotice, onStop }: SchedulerHooks,
) {
  const stopping = createStop(signal, onStop);
  const { stop, stopSignal } = stopping;
  stopSignal.addEventListener('abort', () => queue.rejectAll());
  const random = (): number => (randomBytes(1)[0] ?? 0) / 255;
  const concurrency = createNotedLimit(range, random, onNotice);
  const outageHooks = { onOutage: onNotice, onGiveUp: stop, onRecovery: concurrency.restart };
  const availability = createAvailability(options, { elapsed, after }, random, outageHooks);
  const { canRetry, canWait, toOutcome, skippedRetries } = availability;
  const budget = createBudget(options, stop);
  const stopRules = createStopRules(options, stop);
  const pace = createPace(options, elapsed);
  const lines = createLines(options, concurrency.current);
  const currentLimit = (): number => (availability.isProbing() ? 1 : concurrency.current());
  const findObstacle = (inFlight: number): Obstacle | undefined => {
    const outage = availability.isProbing() ? 'outage' : undefined;
    if (inFlight >= currentLimit()) return { heldBy: outage ?? concurrency.heldBy() };
    const [notBefore, nextSendAt] = [availability.notBefore(), pace.nextSendAt()];
    const waitMs = Math.max(notBefore, nextSendAt) - elapsed();
    if (waitMs > 0) return { heldBy: nextSendAt > notBefore ? pace.heldBy() : (outage ?? 'wait'), waitMs };
    return budget.hasRoom(inFlight) ? undefined : { heldBy: 'budget' };
  };
  const queue = createQueue(findObstacle, lines.notify, stopSignal, after);
  const onAttemptEnd = (failure: Failure | undefined, startedAt: number): void => {
    const isFull = queue.active() >= currentLimit();
    let waitMs = failure?.facts.retryAfterMs ?? 0;
    if (!availability.isProbing()) {
      if (!failure || !isOverload(failure)) concurrency.onResponse(elapsed(), startedAt, isFull);
      else waitMs = concurrency.onOverload(elapsed(), waitMs, failure.code === 'rate_limited');
    }
    availability.onAttemptEnd(failure, startedAt, queue.active(), waitMs);
  };
  return {
    ...{ start: lines.start, waitForAll: lines.waitForAll, skippedRetries, missedByLimits: budget.missed },
    createTurn: (bytes = 0): Turn => {
      let expectedTokens = 0;
      const onAdmit = (): void => {
        expectedTokens = pace.take(bytes);
      };
      const spend: Turn['spend'] = (spending, status) => {
        pace.correct(spending.tokens, status, expectedTokens);
        budget.add(spending, status);
      };
      const turn = createTurn(queue, elapsed, lines.heldBy(), onAdmit, onAttemptEnd);
      return { ...turn, spend, canRetry, canWait, toOutcome };
    },
    /** What the batch does now, for its progress: requests that may be in flight, and what holds them there. */
    describeProgress: () => progressText(queue, availability),
    ...stopping,
    currentLimit,
    addOutcome: stopRules.addOutcome,
    hasReachedLimit: (): boolean => budget.isReached() || stopRules.hasReachedLimit(),
  };
}

// A limit that says once that refusals do not depend on load.
function createNotedLimit(range: ConcurrencyRange, random: () => number, onNotice: SchedulerHooks['onNotice']) {
  let isNoted = false;
  return createConcurrencyLimit(range, random, (share) => {
    if (!isNoted) onNotice(sporadicNotice(share, range));
    isNoted = true;
  });
}

function sporadicNotice(share: number, { initial, max }: ConcurrencyRange): string {
  const next = initial === max ? `returns to ${max} requests in flight` : 'no longer slows down for that';
  return `the service refuses ${Math.round(100 * share)} % of requests, however few are in flight; the batch ${next}, and retries them`;
}

function createStop(signal: ExchangeSignal | undefined, onStop: () => void) {
  const { signal: stopSignal, abort } = linkSignal(signal);
  let stopReason: string | undefined;
  return {
    /** Aborted when the batch stops taking lines; requests in flight continue. */
    stopSignal,
    stopReason: () => stopReason,
    stop: (reason: string): void => {
      stopReason ??= reason;
      abort(new InterruptedError('SIGINT'));
      onStop();
    },
  };
}

function createLines({ isOrdered }: BatchOptions, concurrency: () => number) {
  const limit = (): number => concurrency() * (isOrdered ? ORDERED_LINES_PER_REQUEST : LINES_PER_REQUEST);
  let active = 0;
  let hasWaited = false;
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
      hasWaited = active >= limit();
      await waitUntil(() => active < limit());
      active += 1;
      void work().finally(() => {
        active -= 1;
        notify();
      });
    },
    waitForAll: () => waitUntil(() => active === 0),
    /** What the line that started last waited for, besides requests in flight. */
    heldBy: (): Hold | undefined => (isOrdered && hasWaited ? 'order' : undefined),
    /** Looks at the limit again. */
    notify: () => notify(),
  };
}

/** What keeps the next request from being sent; `heldBy` is undefined while a larger limit is tried. */
interface Obstacle {
  readonly heldBy: Hold | undefined;
  readonly waitMs?: number;
}

// The requests that wait to be sent, in order, and the number of those in flight.
function createQueue(
  findObstacle: (inFlight: number) => Obstacle | undefined,
  onAllAdmitted: () => void,
  stopSignal: ExchangeSignal,
  after: Runtime['after'],
) {
  const waiters = new Set<{
    readonly admit: (obstacle?: Obstacle) => void;
    readonly reject: (failure: Failure) => void;
  }>();
  let active = 0;
  let isTimerSet = false;
  let obstacle: Obstacle | undefined;
  const admitAll = (): void => {
    const passed = obstacle;
    obstacle = undefined;
    for (const waiter of waiters) {
      obstacle = findObstacle(active);
      if (obstacle) {
        if (obstacle.waitMs) admitLater(obstacle.waitMs);
        return;
      }
      waiters.delete(waiter);
      active += 1;
      waiter.admit(passed);
    }
    onAllAdmitted();
  };
  const admitLater = (delayMs: number): void => {
    if (isTimerSet) return;
    isTimerSet = true;
    after(Math.min(Math.ceil(delayMs), MAX_TIMER_MS), () => {
      isTimerSet = false;
      admitAll();
    });
  };
  return {
    active: () => active,
    rejectAll: (): void => {
      for (const { reject } of waiters) reject(notSentFailure());
      waiters.clear();
    },
    obstacle: () => (waiters.size > 0 ? findObstacle(active) : undefined),
    /** Calls `onAdmit` once a request may be sent, and returns what it waited for. Throws the Failure of one that is not sent. */
    enter: (onAdmit: () => void): Promise<Obstacle | undefined> =>
      new Promise((resolve, reject) => {
        if (stopSignal.aborted) return reject(notSentFailure());
        const admit = (passed?: Obstacle): void => {
          onAdmit();
          resolve(passed);
        };
        waiters.add({ admit, reject });
        admitAll();
      }),
    leave: (): void => {
      active -= 1;
      admitAll();
    },
  };
}

function createTurn(
  { enter, leave }: Pick<ReturnType<typeof createQueue>, 'enter' | 'leave'>,
  elapsed: Runtime['elapsed'],
  firstHold: Hold | undefined,
  onAdmit: () => void,
  onAttemptEnd: (failure: Failure | undefined, startedAt: number) => void,
) {
  let heldBy = firstHold;
  let startedAt = 0;
  let isHeld = false;
  const release = (): void => {
    if (isHeld) leave();
    isHeld = false;
  };
  return {
    heldBy: () => heldBy,
    acquire: async (): Promise<void> => {
      release();
      const obstacle = await enter(onAdmit);
      heldBy = obstacle?.heldBy ?? heldBy;
      isHeld = true;
      startedAt = elapsed();
    },
    report: (failure: Failure | undefined): void => onAttemptEnd(failure, startedAt),
    release,
  };
}

function progressText(
  { active, obstacle }: Pick<ReturnType<typeof createQueue>, 'active' | 'obstacle'>,
  { isProbing, reason }: Pick<ReturnType<typeof createAvailability>, 'isProbing' | 'reason'>,
): string {
  const found = obstacle();
  const { heldBy, waitMs = 0 } = found ?? {};
  const cause = !heldBy || heldBy === 'wait' || heldBy === 'outage' ? reason() : holds[heldBy];
  if (waitMs > MIN_SHOWN_WAIT_MS) return `waiting ${formatSeconds(waitMs / 1000)}: ${cause}`;
  if (isProbing()) return `trying one request: ${reason()}`;
  if (heldBy) return `held at ${active()}: ${cause}`;
  return `${active()} in flight${found ? ', growing' : ''}`;
}

// The time of the next request by `--rate` and `--token-rate`.
function createPace({ rate, tokenRate }: Pick<BatchOptions, 'rate' | 'tokenRate'>, elapsed: Runtime['elapsed']) {
  const msPerRequest = rate ? 1000 / rate : 0;
  const msPerToken = tokenRate ? 1000 / tokenRate : 0;
  const used = { tokens: 0, responses: 0 };
  let nextSendAt = 0;
  let heldBy: Hold = 'rate';
  const delay = (milliseconds: number): void => {
    if (milliseconds !== 0) nextSendAt = Math.max(nextSendAt, elapsed() - MAX_CATCH_UP_MS) + milliseconds;
  };
  return {
    nextSendAt: () => nextSendAt,
    heldBy: () => heldBy,
    /** Counts a request of so many bytes, and returns the tokens that it is expected to use. */
    take: (bytes: number): number => {
      const tokens = used.responses > 0 ? used.tokens / used.responses : bytes / BYTES_PER_TOKEN;
      heldBy = msPerToken * tokens > msPerRequest ? 'token_rate' : 'rate';
      delay(Math.max(msPerRequest, msPerToken * tokens));
      return tokens;
    },
    /** Corrects what was expected of a request that may have been applied. */
    correct: (tokens: number | undefined, status: LineStatus, expectedTokens: number): void => {
      if (tokens !== undefined) {
        used.tokens += tokens;
        used.responses += 1;
      }
      if (status === 'done' || status === 'unknown') delay(msPerToken * ((tokens ?? expectedTokens) - expectedTokens));
    },
  };
}

// Signs that the service has more to do than it can: rate limits, proofs of a refusal, any 503, a connection that was refused, timed
// out or reset.
function isOverload({ code, facts: { status, isTimedOut } }: Failure): boolean {
  if (code === 'rate_limited' || code === 'unreachable' || status === 503) return true;
  return code === 'unknown' && status === undefined && isTimedOut !== true;
}
