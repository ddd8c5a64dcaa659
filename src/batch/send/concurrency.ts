import { readFileSync } from 'node:fs';
import type { Operation } from '../../operations/operation.ts';
import type { Hold } from '../../reports/batch/line-facts.ts';
import type { BatchOptions } from '../batch-options.ts';
import { createSporadicRefusals } from './sporadic-refusals.ts';
import { stopConditions } from './stop-rules.ts';

export interface ConcurrencyRange {
  readonly initial: number;
  readonly max: number;
  /** What the maximum comes from. */
  readonly maxHold: Hold;
}

const INITIAL_AUTO_CONCURRENCY = 8;
// A kill makes each request in flight unknown, which for a paid request costs money.
const MAX_PAID_CONCURRENCY = 64;
const MAX_SAFE_CONCURRENCY = 256;
const MAX_JOB_CONCURRENCY = 2;
const DEFAULT_MAX_OPEN_FILES = 1024;

/** The requests that may be in flight: the number of `--concurrency`, or for `auto` from 8 up to what the operation allows. */
export function concurrencyRange(
  { concurrency, ...flags }: Pick<BatchOptions, 'concurrency' | 'isFailFast' | 'maxFailures'>,
  { effect, arguments: named, replaces }: Operation,
): ConcurrencyRange {
  if (concurrency !== 'auto') return { initial: concurrency, max: concurrency, maxHold: 'concurrency' };
  const canStop = stopConditions(flags).length > 0;
  // A replacement without an id of its own is sent once.
  const isSafe = effect === 'read' || (effect === 'keyed' && replaces === undefined);
  const limits: { readonly max: number; readonly maxHold: Hold }[] = [
    typeof named?.as === 'object'
      ? { max: MAX_JOB_CONCURRENCY, maxHold: 'jobs' }
      : isSafe
        ? { max: MAX_SAFE_CONCURRENCY, maxHold: 'safe' }
        : { max: MAX_PAID_CONCURRENCY, maxHold: 'paid' },
    { max: canStop ? INITIAL_AUTO_CONCURRENCY : Number.POSITIVE_INFINITY, maxHold: 'failure_flags' },
    { max: Math.max(1, Math.floor(maxOpenFiles() / 2)), maxHold: 'open_files' },
  ];
  const range = limits.reduce((least, one) => (one.max < least.max ? one : least));
  return { ...range, initial: Math.min(INITIAL_AUTO_CONCURRENCY, range.max) };
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
// Smaller rounds of the start treble the limit, as long as the service refused nothing.
const FAST_START_SIZE = 32;
const MIN_STEP = 1 / 8;
// A larger limit has to bring this part of what it should, a smaller one to lose less.
const MIN_GAIN = 0.6;
// Requests that take so many times as long as the shortest ones wait in a queue. It is one, not a slower service, if
// latency falls to this part with fewer requests.
const QUEUED_FACTOR = 1.2;
const SHORTER_PART = 0.9;
// Shorter delays are those of two busy machines, which more requests in flight make up for.
const MIN_QUEUED_MS = 10;
// Shorter rounds of a fast service would show what disk and processor do, not what the service does.
const MIN_ROUND_MS = 50;
// After a sign of overload the limit falls to this part for some rounds, in which other processes find room.
const GIVEN_PART = 0.9;
const REFUSED_ROUNDS = 6;
const QUEUED_ROUNDS = 4;
// A try that ends in a wait of the whole batch may cost 5 % of the time.
const RESPONSE_TIME_PER_WAIT = 20;
const LATENCY_WEIGHT = 1 / 32;

/**
 * The number of requests that a batch may have in flight, which finds itself within a range (docs/internals/decisions/0054). In rounds of as
 * many responses as the limit: it trebles at the start, then holds, tries other limits, and keeps what brings more responses per second.
 * Each refusal takes one away; a queue takes away what waits in it. Then the limit gives way for some rounds, and grows until the next sign.
 * Refusals that come at any load do not count: `onSporadic` has their share, as often as they are found.
 */
export function createConcurrencyLimit(
  range: ConcurrencyRange,
  random: () => number,
  onSporadic: (share: number) => void = () => {},
) {
  const search = createSearch(range, range.initial < range.max ? 'start' : 'hold', random);
  const { isAboutLoad } = createTrials(search, onSporadic);
  return {
    current: () => search.limit,
    /** What holds the limit where it is; undefined while a larger one is tried. */
    heldBy: (): Hold | undefined => {
      if (search.limit >= search.max) return range.maxHold;
      if (['start', 'settle', 'measure', 'climb'].includes(search.phase)) return undefined;
      return search.ceiling < search.max && search.queuedMs === 0 ? 'refusals' : 'latency';
    },
    /** Counts a response; it says something about a larger limit only if as many requests as allowed were in flight. */
    onResponse: (now: number, startedAt: number, isFull: boolean): void => {
      if (!isAboutLoad('response', search.limit, isFull)) return;
      const { round } = search;
      search.latency.add(now - startedAt);
      round.milliseconds += now - startedAt;
      round.quickestMs = Math.min(round.quickestMs, now - startedAt);
      round.responses += 1;
      round.isFull &&= isFull;
      round.startedAt ||= startedAt;
      if (search.phase === 'start' && isFull && round.refusals === 0 && now - startedAt < 2 * search.shortestMs)
        grow(search);
      endRound(search, now);
    },
    /** Counts a request that the service had no room for, and returns how long others wait: 0 if it is not known to depend on load. */
    onOverload: (now: number, retryAfterMs: number, isRateLimit = true): number => {
      if (!isAboutLoad(isRateLimit ? 'refusal' : 'overload', search.limit, true)) return 0;
      // A wait is paid for again by each try.
      search.notBefore = Math.max(search.notBefore, now + RESPONSE_TIME_PER_WAIT * retryAfterMs);
      if (search.round.responses >= search.round.size) search.round = createRound(search.limit, now);
      const { round } = search;
      if (round.refusals === 0) round.floor = Math.ceil(search.limit / 2);
      search.limit = Math.max(round.floor, search.limit - 1);
      round.refusals += 1;
      endRound(search, now);
      return retryAfterMs;
    },
    /** Starts over with one request, after a service was down, and doubles up to the limit before it. */
    restart: (): void => {
      search.ceiling = search.limit;
      hold(search, search.held.wanted * 2);
      startOver(search, 1, 'start');
    },
  };
}

// A trial has a limit of its own, and no rounds.
function createTrials(search: Search, onSporadic: (share: number) => void) {
  const endTrial = (limit: number, ceiling: number, phase: Phase): void => {
    search.ceiling = ceiling;
    hold(search, 1);
    startOver(search, limit, phase);
  };
  return createSporadicRefusals(search.max, {
    onTrial: (limit) => void Object.assign(search, { limit, phase: 'measure' }),
    onLoad: (limit) => endTrial(limit, limit, 'hold'),
    onSporadic: (share) => {
      const { canTrySmaller, limit, max } = search;
      endTrial(canTrySmaller ? limit : max, max, canTrySmaller ? 'start' : 'hold');
      onSporadic(share);
    },
  });
}

function startOver(search: Search, limit: number, phase: Phase): void {
  Object.assign(search, { limit, phase, base: { limit, rate: 0 }, round: createRound(limit, 0) });
}

type Search = ReturnType<typeof createSearch>;
type Phase = 'start' | 'hold' | 'settle' | 'measure' | 'recover' | 'climb';

function createSearch({ initial, max }: ConcurrencyRange, phase: Phase, random: () => number) {
  return {
    ...{ random, max, limit: initial, phase, round: createRound(initial, 0), latency: createVariation() },
    // What a larger or smaller limit is compared with.
    ...{ base: { limit: initial, rate: 0 }, step: 0, shortestMs: Number.POSITIVE_INFINITY },
    quickestMs: Number.POSITIVE_INFINITY,
    held: { rounds: 0, responses: 0, milliseconds: 0, wanted: 1, until: 1 },
    // How long requests took that waited in a queue, if that was the last sign of overload.
    queuedMs: 0,
    // A number that was given shrinks only after refusals: on a busy machine, latency varies for other reasons.
    ...{ canTrySmaller: initial < max, ceiling: max, notBefore: 0 },
  };
}

function hold(search: Search, rounds: number): void {
  const most = Math.max(MAX_HOLD_ROUNDS, MIN_RESPONSES_PER_PROBE / search.limit);
  const wanted = Math.max(1, Math.min(most, rounds));
  // At times of their own, so that several processes do not try at once.
  const held = { rounds: 0, responses: 0, milliseconds: 0, wanted, until: wanted * (0.7 + 0.4 * search.random()) };
  Object.assign(search, { phase: 'hold', step: 0, held });
}

function endRound(search: Search, now: number): void {
  const { round, phase } = search;
  const isTooShort = round.refusals === 0 && phase !== 'recover' && now - round.startedAt < MIN_ROUND_MS;
  if (round.responses + round.refusals < round.size || isTooShort) return;
  const { responses, milliseconds, isFull } = round;
  const durationMs = Math.max(now - round.startedAt, 0.001);
  if (round.refusals > 0) afterRefusals(search);
  else if (isFull) {
    const [rate, latency] = [responses / durationMs, milliseconds / responses];
    const doubt = (2 * search.latency.variation()) / Math.sqrt(responses);
    search.shortestMs = Math.min(search.shortestMs, latency * (1 + doubt));
    search.quickestMs = Math.min(search.quickestMs, round.quickestMs);
    if (phase === 'start') afterStart(search, rate);
    else if (phase === 'recover') afterRecovery(search, rate, latency);
    else if (search.canTrySmaller && hasQueue(search, latency * (1 - 2 * doubt))) afterQueue(search, rate, latency);
    else if (phase === 'climb') climb(search);
    else if (phase === 'settle') search.phase = 'measure';
    else if (phase === 'measure') afterMeasure(search, rate);
    else afterHold(search, durationMs, now);
  }
  search.round = createRound(search.limit, now);
}

// A queue that stands delays all requests of a round; a busy machine delays some.
function hasQueue({ shortestMs, quickestMs, round }: Search, latency: number): boolean {
  const isLonger = (one: number, than: number): boolean => one > Math.max(QUEUED_FACTOR * than, than + MIN_QUEUED_MS);
  return isLonger(latency, shortestMs) && isLonger(round.quickestMs, quickestMs);
}

function afterRefusals(search: Search): void {
  const { phase, held, limit, step } = search;
  // Tries are rare where they find no room, and frequent where other processes give and take some.
  const isFull = phase === 'settle' || phase === 'measure' || (phase === 'climb' && step === 1);
  search.queuedMs = 0;
  giveWay(search, limit, isFull ? held.wanted * 3 : 1);
}

function afterQueue(search: Search, rate: number, latency: number): void {
  const { phase, held, limit, shortestMs } = search;
  const isFull = phase !== 'hold' && !isWorth(search, rate);
  search.base = { limit, rate };
  search.queuedMs = latency;
  const inUse = (limit * shortestMs) / latency;
  giveWay(search, Math.max(1, Math.ceil(Math.max(limit / 2, inUse - 1))), isFull ? held.wanted * 3 : 1);
}

function giveWay(search: Search, ceiling: number, rounds: number): void {
  search.ceiling = ceiling;
  search.limit = Math.max(1, Math.floor(ceiling * GIVEN_PART + search.random()));
  hold(search, rounds);
  if (search.limit < ceiling || search.queuedMs > 0) search.phase = 'recover';
}

function afterRecovery(search: Search, rate: number, latency: number): void {
  const { held, limit, ceiling, base, queuedMs } = search;
  held.rounds += 1;
  if (held.rounds === QUEUED_ROUNDS && latency > SHORTER_PART * queuedMs && queuedMs > 0 && !isWorth(search, rate)) {
    // Fewer requests brought less, and took as long: that is how long they take, not a queue.
    search.shortestMs = Math.max(search.shortestMs, SHORTER_PART * queuedMs);
    search.quickestMs = Math.max(search.quickestMs, SHORTER_PART * search.round.quickestMs);
    Object.assign(search, { limit: base.limit, ceiling: search.max });
    hold(search, 1);
    return;
  }
  if (held.rounds < (queuedMs > 0 ? QUEUED_ROUNDS : REFUSED_ROUNDS)) return;
  search.limit = Math.min(ceiling, limit + Math.max(1, Math.floor(Math.sqrt(ceiling) / 2)));
  if (search.limit === ceiling) hold(search, held.wanted);
}

// Whether a limit brings enough more than the one it is compared with, or loses little.
function isWorth({ base, limit }: Search, rate: number): boolean {
  return rate >= base.rate * (1 + (limit / base.limit - 1) * MIN_GAIN);
}

// Round by round until the service refuses: a small limit gains as much as a large one, which gives more.
function climb(search: Search): void {
  const { limit, ceiling, max, step } = search;
  search.phase = 'climb';
  search.limit = Math.min(max, limit + Math.max(1, step));
  search.step = step + 1;
  if (search.limit < max && limit <= 1.5 * ceiling + 2) return;
  search.ceiling = max;
  hold(search, 1);
}

// By so many per response of a round, so that the limit trebles, later doubles, per round.
function grow(search: Search): void {
  const { ceiling, limit, max, round } = search;
  const factor = round.size < FAST_START_SIZE && ceiling === max ? 3 : 2;
  search.limit = Math.min(ceiling, factor * round.size, limit + factor - 1);
}

// Grows until requests take twice as long.
function afterStart(search: Search, rate: number): void {
  const { base, round, shortestMs } = search;
  if (round.milliseconds / round.responses > 2 * shortestMs) {
    search.limit = Math.ceil(Math.max(base.limit / 2, rate * shortestMs) * (1 + MIN_STEP));
    hold(search, 1);
  } else if (round.size >= search.ceiling) hold(search, search.held.wanted);
  else search.base = { limit: round.size, rate };
}

function afterHold(search: Search, durationMs: number, now: number): void {
  const { held, limit, round } = search;
  held.rounds += 1;
  held.responses += round.responses;
  held.milliseconds += durationMs;
  if (now < search.notBefore || held.rounds < held.until) return;
  search.base = { limit, rate: held.responses / held.milliseconds };
  (search.ceiling < search.max ? climb : tryOther)(search);
}

// The more latencies vary, the larger a step has to be for one round to show what it brings.
function tryOther(search: Search): void {
  const { limit, max } = search;
  const part = Math.min(1, Math.max(MIN_STEP, search.latency.variation()));
  search.limit = Math.min(max, limit + Math.max(1, search.step, Math.floor(limit * part)));
  if (search.limit === limit) hold(search, search.held.wanted);
  else search.phase = 'settle';
}

function afterMeasure(search: Search, rate: number): void {
  const { base, limit, held, max } = search;
  if (!isWorth(search, rate)) {
    search.limit = base.limit;
    hold(search, held.wanted * 2);
  } else if (limit < max) {
    search.ceiling = max;
    held.wanted = 1;
    search.step = (limit - base.limit) * 2;
    search.base = { limit, rate };
    tryOther(search);
  } else hold(search, 1);
}

function createRound(size: number, startedAt: number) {
  const counts = { responses: 0, refusals: 0, milliseconds: 0 };
  return { ...counts, size, startedAt, floor: 1, isFull: true, quickestMs: Number.POSITIVE_INFINITY };
}

// The coefficient of variation of recent values, by the difference of each to the one before: values that grow together do not vary.
function createVariation() {
  let [mean, variance, last, count] = [0, 0, 0, 0];
  return {
    add: (value: number): void => {
      if (count > 0) variance += Math.max(LATENCY_WEIGHT, 1 / count) * ((value - last) ** 2 / 2 - variance);
      count += 1;
      mean += Math.max(LATENCY_WEIGHT, 1 / count) * (value - mean);
      last = value;
    },
    variation: (): number => (mean > 0 ? Math.sqrt(variance) / mean : 0),
  };
}
