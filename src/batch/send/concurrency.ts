import { readFileSync } from 'node:fs';
import type { Operation } from '../../operations/operation.ts';
import type { BatchOptions } from '../batch-options.ts';

export interface ConcurrencyRange {
  readonly initial: number;
  readonly max: number;
}

const INITIAL_AUTO_CONCURRENCY = 8;
// A kill makes each request in flight unknown, which for a paid request costs money.
const MAX_PAID_CONCURRENCY = 64;
const MAX_SAFE_CONCURRENCY = 256;
const MAX_JOB_CONCURRENCY = 2;
const DEFAULT_MAX_OPEN_FILES = 1024;

/** The requests that may be in flight: the number of `--concurrency`, or for `auto` from 8 up to what the operation allows. */
export function concurrencyRange(
  { concurrency, isFailFast, maxFailures }: Pick<BatchOptions, 'concurrency' | 'isFailFast' | 'maxFailures'>,
  { effect, arguments: named, replaces }: Operation,
): ConcurrencyRange {
  if (concurrency !== 'auto') return { initial: concurrency, max: concurrency };
  const isJob = typeof named?.as === 'object';
  // A replacement without an id of its own is sent once.
  const isSafe = effect === 'read' || (effect === 'keyed' && replaces === undefined);
  const byEffect = isJob ? MAX_JOB_CONCURRENCY : isSafe ? MAX_SAFE_CONCURRENCY : MAX_PAID_CONCURRENCY;
  const byFlags = isFailFast || maxFailures ? INITIAL_AUTO_CONCURRENCY : byEffect;
  const max = Math.max(1, Math.min(byEffect, byFlags, Math.floor(maxOpenFiles() / 2)));
  return { initial: Math.min(INITIAL_AUTO_CONCURRENCY, max), max };
}

function maxOpenFiles(): number {
  try {
    const [, count] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return Number(count ?? DEFAULT_MAX_OPEN_FILES);
  } catch {
    return DEFAULT_MAX_OPEN_FILES;
  }
}

// After so many rounds the limit is tried again that failed before; a small limit waits for more, so that refusals stay rare.
const MAX_HOLD_ROUNDS = 24;
const MIN_RESPONSES_PER_PROBE = 100;
const MIN_STEP = 1 / 8;
// Shorter rounds of a fast service would show what disk and processor do, not what the service does.
const MIN_ROUND_MS = 50;
// After a refusal the limit falls to this part, so that other processes find room, and recovers within a few rounds.
const REFUSED_PART = 3 / 4;
// A try that ends in a wait of the whole batch may cost 5 % of the time.
const RESPONSE_TIME_PER_WAIT = 20;
const LATENCY_WEIGHT = 1 / 32;

/**
 * The number of requests that a batch may have in flight, which finds itself within a range (docs/internals/decisions/0054). In rounds of as
 * many responses as the limit: it doubles at the start, then holds, and tries a larger limit from time to time, which it keeps if
 * that brought more responses per second. Each refusal takes one away, down to half in a round: that request did not fit.
 */
export function createConcurrencyLimit({ initial, max }: ConcurrencyRange, random: () => number) {
  let limit = initial;
  let phase: 'start' | 'hold' | 'settle' | 'measure' | 'recover' = limit < max ? 'start' : 'hold';
  let round = createRound(limit, 0);
  // What a larger or smaller limit is compared with.
  let base = { limit: 0, rate: 0, bestRate: 0 };
  let held = { rounds: 0, responses: 0, milliseconds: 0, bestRate: 0, wanted: 1 };
  let step = 0;
  let isSmaller = false;
  let floor = 1;
  let hasCeiling = false;
  let ceiling = max;
  let notBefore = 0;
  let shortestMs = Number.POSITIVE_INFINITY;
  const latency = createVariation();
  // A number that was given shrinks only after refusals: on a busy machine, latency varies for other reasons.
  const canTrySmaller = initial < max;

  const hold = (rounds: number): void => {
    phase = 'hold';
    const most = Math.max(MAX_HOLD_ROUNDS, MIN_RESPONSES_PER_PROBE / limit);
    held = { rounds: 0, responses: 0, milliseconds: 0, bestRate: 0, wanted: Math.max(1, Math.min(most, rounds)) };
  };
  // The more latencies vary, the larger a step has to be for one round to show what it brings.
  const tryOther = (): void => {
    const inUse = base.rate * shortestMs;
    isSmaller =
      canTrySmaller &&
      !isSmaller &&
      !hasCeiling &&
      inUse * 1.25 + 1 < limit &&
      latency.variation() / Math.sqrt(limit) < 0.1;
    if (isSmaller) limit = Math.max(1, Math.ceil(Math.max(inUse * 1.1, limit * REFUSED_PART)));
    else {
      const part = hasCeiling ? MIN_STEP : Math.min(1, Math.max(MIN_STEP, latency.variation()));
      limit = Math.min(max, limit + Math.max(1, step, Math.floor(limit * part)));
    }
    if (limit === base.limit) hold(held.wanted);
    else phase = 'settle';
  };
  const afterRefusals = (): void => {
    const wanted = phase === 'settle' || phase === 'measure' ? held.wanted * 2 : held.wanted / 2;
    hasCeiling = true;
    ceiling = limit;
    limit = Math.max(1, Math.floor(limit * REFUSED_PART));
    step = 0;
    hold(wanted);
    phase = 'recover';
  };
  // Doubles until that brings less than a quarter of what it should; few responses of varying latency do not decide.
  const afterStart = (rate: number): void => {
    const canJudge = round.responses >= (4 * latency.variation()) ** 2;
    const wanted = base.rate * (1 + (round.size / base.limit - 1) / 4);
    if (canJudge && base.rate > 0 && rate < wanted) {
      limit = Math.max(1, Math.round(base.limit * Math.max(1, rate / base.rate)));
      hold(1);
    } else if (limit >= max) hold(1);
    else base = { limit: round.size, rate, bestRate: rate };
  };
  const afterMeasure = (rate: number): void => {
    const gain = limit / base.limit - 1;
    const isBetter = isSmaller ? rate >= base.rate * 0.97 : rate >= base.bestRate * (1 + gain / 2);
    if (isBetter && !isSmaller && limit < max) {
      hasCeiling = false;
      held.wanted = 1;
      step = (limit - base.limit) * 2;
      base = { limit, rate, bestRate: rate };
      tryOther();
    } else if (isBetter) hold(1);
    else {
      // The shortest latency was of a service that had less to do.
      if (isSmaller) shortestMs *= 1.1;
      limit = base.limit;
      step = 0;
      hold(held.wanted * 2);
    }
  };
  const endRound = (now: number): void => {
    const isTooShort = round.refusals === 0 && now - round.startedAt < MIN_ROUND_MS;
    if (round.responses + round.refusals < round.size || isTooShort) return;
    const { responses, milliseconds, startedAt, isFull } = round;
    const rate = responses / Math.max(now - startedAt, 0.001);
    if (round.refusals > 0) afterRefusals();
    else if (isFull) {
      const doubt = 1 + latency.variation() / Math.sqrt(responses);
      shortestMs = Math.min(shortestMs, (milliseconds / responses) * doubt);
      if (phase === 'start') afterStart(rate);
      else if (phase === 'recover') {
        limit += Math.ceil((ceiling - limit) / 2);
        if (limit >= ceiling) hold(held.wanted);
      } else if (phase === 'settle') phase = 'measure';
      else if (phase === 'measure') afterMeasure(rate);
      else {
        held.bestRate = Math.max(held.bestRate, rate);
        held.rounds += 1;
        held.responses += responses;
        held.milliseconds += now - startedAt;
        // At times of their own, so that several processes do not try at once.
        if (now >= notBefore && held.rounds >= held.wanted * (0.75 + random() / 2)) {
          const meanRate = held.responses / Math.max(held.milliseconds, 0.001);
          base = { limit, rate: meanRate, bestRate: hasCeiling ? meanRate : held.bestRate };
          tryOther();
        }
      }
    }
    round = createRound(limit, now);
  };
  return {
    current: () => limit,
    isGrowing: () => limit < max && (phase === 'start' || phase === 'settle' || phase === 'measure'),
    /** True if refusals, not latency or the maximum, hold the limit where it is. */
    isHeldByRefusals: () => hasCeiling,
    /** Counts a response; it says something about a larger limit only if as many requests as allowed were in flight. */
    onResponse: (now: number, startedAt: number, isFull: boolean): void => {
      latency.add(now - startedAt);
      round.milliseconds += now - startedAt;
      round.responses += 1;
      round.isFull &&= isFull;
      if (phase === 'start' && isFull && round.refusals === 0) limit = Math.min(max, 2 * round.size, limit + 1);
      endRound(now);
    },
    /** Counts a request that the service had no room for. A wait that it asked for is paid for again by each try. */
    onOverload: (now: number, retryAfterMs: number): void => {
      notBefore = Math.max(notBefore, now + RESPONSE_TIME_PER_WAIT * retryAfterMs);
      if (round.responses >= round.size) round = createRound(limit, now);
      if (round.refusals === 0) floor = Math.ceil(limit / 2);
      limit = Math.max(floor, limit - 1);
      round.refusals += 1;
      endRound(now);
    },
    /** Starts over with one request, after a service was down. */
    restart: (now: number): void => {
      limit = 1;
      phase = 'start';
      base = { limit: 0, rate: 0, bestRate: 0 };
      round = createRound(limit, now);
    },
  };
}

function createRound(size: number, startedAt: number) {
  return { size, startedAt, responses: 0, refusals: 0, milliseconds: 0, isFull: true };
}

// The coefficient of variation of recent values.
function createVariation() {
  let mean = 0;
  let variance = 0;
  return {
    add: (value: number): void => {
      const weight = mean === 0 ? 1 : LATENCY_WEIGHT;
      const difference = value - mean;
      mean += weight * difference;
      variance = (1 - weight) * (variance + weight * difference * difference);
    },
    variation: (): number => (mean > 0 ? Math.sqrt(variance) / mean : 0),
  };
}
