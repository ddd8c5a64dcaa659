import { describe, expect, it } from 'vitest';
import { DEFAULT_BATCH_OPTIONS } from '../../src/batch/batch-options.ts';
import { createScheduler, type Scheduler, type Turn } from '../../src/batch/send/scheduler.ts';
import { Failure, type FailureFacts } from '../../src/errors.ts';
import { type Clock, clock } from '../support/clock.ts';

type Limits = Omit<Parameters<typeof createScheduler>[0], 'concurrency'> & {
  readonly concurrency: number;
  readonly max?: number;
};

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const limited = (retryAfterMs?: number): Failure => new Failure('rate_limited', 'rate limited', { retryAfterMs });
const serverError = (): Failure => new Failure('failed', 'HTTP 500', { applied: 'unknown' });
const connectFailure = (facts: FailureFacts = {}): Failure =>
  new Failure('unreachable', 'could not connect to https://svc.test: refused', {
    phase: 'nothing',
    url: 'https://svc.test/x',
    reason: 'refused',
    ...facts,
  });

function schedulerWith(limits: Partial<Limits>, time: Clock = clock(), signal?: AbortSignal) {
  const events: string[] = [];
  const options: Limits = {
    ...DEFAULT_BATCH_OPTIONS,
    concurrency: 8,
    rate: undefined,
    maxOutageMs: 1000,
    outageFlag: '--max-outage',
    isFailFast: false,
    maxFailures: undefined,
    isOrdered: false,
    ...limits,
  };
  const { concurrency: initial, max = initial } = options;
  const range = { initial, max, maxHold: 'concurrency' } as const;
  const runtime = { ...time, randomBytes: (count: number) => new Uint8Array(count) };
  const scheduler = createScheduler(options, range, runtime, signal, {
    onNotice: () => events.push('outage'),
    onStop: () => events.push('stop'),
  });
  return { scheduler, time, events };
}

/** The turns of lines that wait for their first attempt, in the order in which they got it. */
function acquired(scheduler: Scheduler, count: number): Turn[] {
  const turns: Turn[] = [];
  for (let at = 0; at < count; at += 1) {
    const turn = scheduler.createTurn();
    void turn.acquire().then(
      () => turns.push(turn),
      () => {},
    );
  }
  return turns;
}

/** Ends the attempt of a line. */
function end(turn: Turn | undefined, failure?: Failure): void {
  turn?.report(failure);
  turn?.release();
}

describe('the scheduler of a batch', () => {
  it('allows no more requests than the concurrency', async () => {
    const { scheduler } = schedulerWith({ concurrency: 3 });
    const turns = acquired(scheduler, 5);
    await settle();
    expect(turns).toHaveLength(3);
    end(turns[0]);
    await settle();
    expect(turns).toHaveLength(4);
  });

  it('sends the next request when the outcome of a line is known, not when its attempt ends', async () => {
    const { scheduler } = schedulerWith({ concurrency: 1 });
    const turns = acquired(scheduler, 2);
    await settle();
    turns[0]?.report(undefined);
    await settle();
    expect(turns).toHaveLength(1);
    turns[0]?.release();
    turns[0]?.release();
    await settle();
    expect(turns).toHaveLength(2);
  });

  it('falls to half when all requests in flight are rate limited, and to what fits when a few are', async () => {
    const { scheduler, time } = schedulerWith({});
    const turns = acquired(scheduler, 80);
    await settle();
    expect(turns).toHaveLength(8);
    time.advance(1);
    for (const turn of turns.slice(0, 8)) end(turn, limited());
    // A quarter less for a round, so that other processes find room.
    expect(scheduler.currentLimit()).toBe(3);
    const allowed: number[] = [];
    for (let at = 8; at < 80; at += 1) {
      time.advance(1);
      end(turns[at]);
      allowed.push(scheduler.currentLimit());
      await settle();
    }
    // One response per millisecond, however many are in flight: more than the limit before would bring nothing.
    expect(allowed.slice(0, 8)).toEqual([...allowed.slice(0, 8)].sort((left, right) => left - right));
    expect(allowed).toContain(4);
    const before = scheduler.currentLimit();
    end(turns.at(-1), limited());
    expect(scheduler.currentLimit()).toBe(before - 1);
  });

  it('never allows less than one request', async () => {
    const { scheduler, time } = schedulerWith({ concurrency: 4 });
    for (let round = 0; round < 6; round += 1) {
      const turn = scheduler.createTurn();
      await turn.acquire();
      time.advance(1);
      end(turn, limited());
    }
    expect(scheduler.currentLimit()).toBe(1);
  });

  it('paces requests by the tokens that they use: estimated from bytes, then as responses report', async () => {
    const { scheduler, time } = schedulerWith({ concurrency: 8, tokenRate: 100 });
    const times: number[] = [];
    const turns = Array.from({ length: 4 }, () => scheduler.createTurn(400));
    for (const turn of turns) void turn.acquire().then(() => times.push(time.elapsed()));
    await settle();
    expect(times).toHaveLength(1);
    // 400 bytes are about 100 tokens, and the first response used 300: the rest of it is paid for, and expected of the next ones.
    turns[0]?.spend({ tokens: 300, cost: undefined }, 'done');
    turns[0]?.release();
    const start = time.elapsed();
    for (let at = 0; at < 100; at += 1) {
      time.advance(100);
      await settle();
    }
    expect(times.map((at) => Math.round((at - start) / 1000))).toEqual([0, 3, 6, 9]);
  });

  it('holds all requests as long as the service asks to wait', async () => {
    const { scheduler, time } = schedulerWith({ concurrency: 4 });
    const turns = acquired(scheduler, 6);
    await settle();
    end(turns[0], limited(5000));
    for (const turn of turns.slice(1, 4)) end(turn);
    await settle();
    expect(turns).toHaveLength(4);
    time.advance(4999);
    await settle();
    expect(turns).toHaveLength(4);
    time.advance(1);
    await settle();
    expect(turns.length).toBeGreaterThan(4);
  });

  it.each([
    [10, 1000, 10],
    [0.5, 10_000, 5],
    [200, 1000, 200],
  ])(
    'at %d requests per second sends, in %d ms, about %d, never more than one at once',
    async (rate, milliseconds, expected) => {
      const { scheduler, time } = schedulerWith({ concurrency: 1000, rate });
      const turns = acquired(scheduler, 500);
      const step = Math.min(5, 1000 / rate);
      for (let at = 0; at < milliseconds; at += step) {
        const before = turns.length;
        time.advance(step);
        await settle();
        expect(turns.length - before).toBeLessThanOrEqual(2);
      }
      expect(Math.abs(turns.length - expected)).toBeLessThanOrEqual(Math.max(2, expected * 0.1));
    },
  );

  it('never waits longer than a timer can', async () => {
    const time = clock();
    const waits: number[] = [];
    const after: Clock['after'] = (milliseconds, action) => {
      waits.push(milliseconds);
      return time.after(milliseconds, action);
    };
    const { scheduler } = schedulerWith({ rate: 1 / 3_600_000 }, { ...time, after });
    const turns = acquired(scheduler, 2);
    await settle();
    time.advance(2 ** 31 - 1);
    await settle();
    expect(turns).toHaveLength(1);
    time.advance(3_600_000_001 - (2 ** 31 - 1));
    await settle();
    expect(turns).toHaveLength(2);
    expect(Math.max(...waits)).toBe(2 ** 31 - 1);
  });

  it('ends all waits when it stops, and lets no further request go', async () => {
    const controller = new AbortController();
    const { scheduler } = schedulerWith({ concurrency: 1 }, clock(), controller.signal);
    await scheduler.createTurn().acquire();
    const waits = [1, 2].map(() =>
      scheduler
        .createTurn()
        .acquire()
        .catch((reason: unknown) => reason),
    );
    controller.abort(new Error('enough'));
    const notSent = expect.objectContaining({ message: 'not sent', facts: { applied: 'no', isPermanent: true } });
    expect(await Promise.all(waits)).toEqual([notSent, notSent]);
    await expect(scheduler.createTurn().acquire()).rejects.toThrow('not sent');
  });

  it.each([
    [false, 8],
    [true, 32],
  ])('has a bounded number of lines at once (ordered: %s)', async (isOrdered, count) => {
    const { scheduler } = schedulerWith({ concurrency: 2, isOrdered });
    const ends: (() => void)[] = [];
    let started = 0;
    const feed = (async () => {
      for (let line = 0; line < 100; line += 1)
        await scheduler.start(() => {
          started += 1;
          return new Promise<void>((resolve) => ends.push(resolve));
        });
    })();
    await settle();
    expect(started).toBe(count);
    ends[0]?.();
    await settle();
    expect(started).toBe(count + 1);
    const endAll = async (): Promise<void> => {
      while (started < 100) {
        for (const one of ends) one();
        await settle();
      }
      for (const one of ends) one();
    };
    await Promise.all([feed, endAll()]);
    await scheduler.waitForAll();
  });
});

describe('retries', () => {
  it('are skipped while the last 20 attempts failed for reasons of the service', async () => {
    const { scheduler } = schedulerWith({ concurrency: 100 });
    const turns = acquired(scheduler, 100);
    await settle();
    for (const turn of turns.slice(0, 19)) {
      turn.report(serverError());
      expect(turn.canRetry(serverError())).toBe(true);
    }
    turns[19]?.report(serverError());
    expect(turns[19]?.canRetry(serverError())).toBe(false);
    // A rate limit has a remedy of its own.
    expect(turns[19]?.canRetry(limited())).toBe(true);
    expect(scheduler.skippedRetries()).toBe(1);
    for (const success of [undefined, new Failure('refused', 'HTTP 400', {})]) {
      turns[20]?.report(success);
      expect(turns[20]?.canRetry(serverError())).toBe(true);
      for (let at = 0; at < 20; at += 1) turns[21]?.report(serverError());
      expect(turns[21]?.canRetry(serverError())).toBe(false);
    }
  });
});

describe('a service that is down', () => {
  const failingAt = (limits: Partial<Limits> = {}) => {
    const made = schedulerWith(limits);
    const { scheduler, time } = made;
    const turn = scheduler.createTurn();
    const failAt = (milliseconds: number, facts: FailureFacts = {}): void => {
      time.advance(milliseconds - time.elapsed());
      turn.report(connectFailure(facts));
    };
    return { ...made, turn, failAt };
  };

  it('is probed with one request at a time, at growing intervals', async () => {
    const { scheduler, time } = schedulerWith({ maxOutageMs: 60_000 });
    const turns = acquired(scheduler, 40);
    await settle();
    time.advance(1);
    for (const turn of turns.slice(0, 8)) end(turn, connectFailure());
    expect(scheduler.currentLimit()).toBe(1);
    const probes: number[] = [];
    for (let round = 0; round < 6; round += 1) {
      const count = turns.length;
      const from = time.elapsed();
      while (turns.length === count) {
        time.advance(50);
        await settle();
      }
      expect(turns).toHaveLength(count + 1);
      probes.push(time.elapsed() - from);
      end(turns.at(-1), connectFailure());
    }
    expect(probes).toEqual([250, 500, 1000, 2000, 4000, 5000]);
  });

  it('lets lines wait, also one whose time limit ended before it was connected', () => {
    const { scheduler, turn, events, failAt } = failingAt();
    failAt(0, { isPermanent: true, isTimedOut: true });
    expect(events).toEqual(['outage']);
    expect(turn.canWait(connectFailure({ isPermanent: true, isTimedOut: true }))).toBe(true);
    expect(turn.canWait(serverError())).toBe(false);
    failAt(1000);
    expect(events).toEqual(['outage', 'stop']);
    expect(scheduler.stopReason()).toBe('could not connect for 1 s (--max-outage) to https://svc.test: refused');
    expect(turn.canWait(connectFailure())).toBe(false);
    expect(turn.toOutcome(connectFailure())).toMatchObject({ message: 'not sent', facts: { applied: 'no' } });
    expect(turn.toOutcome(serverError())).toMatchObject({ message: 'HTTP 500' });
  });

  it('stops the batch on time, not at the next probe', () => {
    const { turn, time, events, failAt } = failingAt();
    failAt(0);
    failAt(900);
    time.advance(99);
    expect(events).toEqual(['outage']);
    time.advance(1);
    expect(events).toEqual(['outage', 'stop']);
    expect(turn.canWait(connectFailure())).toBe(false);
  });

  it('is up again with a connection', () => {
    const { scheduler, turn, time, events, failAt } = failingAt();
    failAt(0);
    turn.report(serverError());
    expect(time.pending()).toBe(0);
    failAt(5000, { isPermanent: true });
    expect(events).toEqual(['outage', 'outage']);
    expect(scheduler.stopReason()).toBeUndefined();
  });

  it('for a permanent cause stops the batch at once, unless a connection was made before', () => {
    const { scheduler, events, failAt } = failingAt();
    failAt(0, { isPermanent: true });
    failAt(10, { isPermanent: true });
    expect(events).toEqual(['stop']);
    expect(scheduler.stopReason()).toBe('could not connect to https://svc.test: refused');
  });

  it('fails lines at once if they are not to wait', () => {
    const { turn, events, failAt } = failingAt({ maxOutageMs: 0 });
    failAt(0, { isPermanent: true });
    expect(events).toEqual([]);
    expect(turn.canWait(connectFailure())).toBe(false);
    expect(turn.toOutcome(connectFailure())).toMatchObject({ code: 'unreachable' });
  });
});

describe('a service that fails 20 requests in a row', () => {
  const unknown = (): Failure => new Failure('unknown', 'HTTP 502', { applied: 'unknown', status: 502 });

  it.each([
    ['fails', serverError],
    ['leaves outcomes unknown', unknown],
    ['rejects the credentials', () => new Failure('credentials', 'HTTP 401', { applied: 'no', status: 401 })],
  ])('is tried with one line at a time, at most 10 times: it %s', async (_, failure) => {
    const { scheduler, time, events } = schedulerWith({ concurrency: 4, maxOutageMs: 300_000 });
    const turns = acquired(scheduler, 60);
    let ended = 0;
    const endAll = async (): Promise<void> => {
      await settle();
      while (ended < turns.length) {
        end(turns[ended], failure());
        ended += 1;
        await settle();
      }
    };
    await endAll();
    const sentBefore = ended;
    expect(sentBefore).toBeGreaterThanOrEqual(20);
    expect(sentBefore).toBeLessThan(24);
    const waits: number[] = [];
    for (let seconds = 0; scheduler.stopReason() === undefined && seconds < 1000; seconds += 1) {
      time.advance(1000);
      const before = ended;
      await endAll();
      if (ended > before) waits.push(seconds + 1 - waits.reduce((sum, wait) => sum + wait, 0));
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60, 60]);
    expect(ended - sentBefore).toBe(10);
    expect(scheduler.stopReason()).toMatch(/^the service failed \d+ requests in a row, the last with: HTTP/);
    expect(events).toEqual(['outage', 'stop']);
  });

  it('is used again after one that succeeded, from one request on', async () => {
    const { scheduler, time } = schedulerWith({ concurrency: 4, maxOutageMs: 300_000 });
    const turns = acquired(scheduler, 60);
    for (let at = 0; at < 20; at += 1) {
      await settle();
      end(turns[at], serverError());
    }
    const before = turns.length;
    for (const turn of turns.slice(20)) end(turn, serverError());
    await settle();
    expect(turns).toHaveLength(before);
    time.advance(1000);
    await settle();
    expect(turns).toHaveLength(before + 1);
    end(turns.at(-1));
    await settle();
    expect(turns.length).toBeGreaterThan(before + 1);
    expect(scheduler.currentLimit()).toBeLessThanOrEqual(2);
  });

  it.each([{ maxOutageMs: 0 }, { isFailFast: true }])('ends the batch line by line with %j', async (limits) => {
    const { scheduler } = schedulerWith({ concurrency: 4, ...limits });
    const turns = acquired(scheduler, 60);
    for (let at = 0; at < 60; at += 1) {
      await settle();
      end(turns[at], serverError());
    }
    expect(turns).toHaveLength(60);
  });
});

// What each sign of too many requests does to the limit.
it.each<[string, Failure]>([
  ['429', limited()],
  ['429 with Retry-After', limited(1)],
  ['503', new Failure('failed', 'HTTP 503', { applied: 'unknown', status: 503 })],
  ['a proof of a refusal', new Failure('rate_limited', 'full', { isProvenRefusal: true, status: 503 })],
  ['a request that was cut', new Failure('unreachable', 'reset', { phase: 'part', applied: 'no' })],
  ['a response that was cut off', new Failure('unknown', 'reset', { phase: 'all', applied: 'unknown' })],
])('%s takes one from the requests in flight', async (_, failure) => {
  const { scheduler, time } = schedulerWith({ concurrency: 8 });
  const turns = acquired(scheduler, 8);
  await settle();
  time.advance(1);
  turns[0]?.report(failure);
  expect(scheduler.currentLimit()).toBe(7);
});

describe('the progress says what the batch does, and why', () => {
  const described = async (limits: Partial<Limits>, act: (turns: Turn[], time: Clock) => void, lines = 40) => {
    const { scheduler, time } = schedulerWith(limits);
    const turns = acquired(scheduler, lines);
    await settle();
    time.advance(1);
    act(turns, time);
    await settle();
    return scheduler.describeProgress();
  };
  const nothing = (): void => {};
  const endAll =
    (retryAfterMs?: number) =>
    (turns: Turn[]): void => {
      for (const turn of turns.slice(0, 8)) end(turn, limited(retryAfterMs));
    };

  it.each<[string, Partial<Limits>, (turns: Turn[], time: Clock) => void, number?]>([
    ['8 in flight, growing', { max: 64 }, nothing],
    ['held at 8: --concurrency', {}, nothing],
    ['held at 3: the service refuses more', {}, endAll()],
    ['waiting 12 s: rate limited', {}, endAll(12_000)],
    ['waiting 2 min: --rate', { rate: 1 / 120 }, nothing],
    ['held at 1: --rate', { rate: 2 }, nothing],
    ['held at 1: a limit of tokens or cost is near', { maxTotalTokens: 5 }, nothing],
    [
      'trying one request: could not connect to https://svc.test: refused',
      {},
      (turns, time) => {
        end(turns[0], connectFailure());
        time.advance(300);
      },
    ],
    ['3 in flight', {}, nothing, 3],
  ])('%s', async (text, limits, act, lines) => {
    expect(await described(limits, act, lines)).toBe(text);
  });
});

describe('a batch stops', () => {
  const failed = { failure: serverError(), status: 'failed' } as const;
  const done = { failure: undefined, status: 'done' } as const;

  it('after the first failure with --fail-fast', () => {
    const { scheduler, events } = schedulerWith({ isFailFast: true });
    scheduler.addOutcome(done);
    expect(scheduler.stopReason()).toBeUndefined();
    scheduler.addOutcome(failed);
    scheduler.stop('another reason');
    expect([scheduler.stopReason(), events]).toEqual(['a line failed (--fail-fast)', ['stop', 'stop']]);
    expect(scheduler.hasReachedLimit()).toBe(false);
  });

  it('after more than --max-failures failures, or above a percentage of at least 20 lines', () => {
    const { scheduler } = schedulerWith({ maxFailures: { limit: 1, isPercentage: false } });
    scheduler.addOutcome(failed);
    scheduler.addOutcome({ ...failed, status: 'unsent' });
    expect(scheduler.stopReason()).toBeUndefined();
    scheduler.addOutcome({ ...failed, status: 'unknown' }, true);
    expect([scheduler.stopReason(), scheduler.hasReachedLimit()]).toEqual(['2 lines failed (--max-failures)', true]);

    const { scheduler: percent } = schedulerWith({ maxFailures: { limit: 10, isPercentage: true } });
    for (let line = 1; line < 20; line += 1) percent.addOutcome(line < 4 ? failed : done);
    expect(percent.stopReason()).toBeUndefined();
    percent.addOutcome(done);
    expect(percent.stopReason()).toBe('3 lines failed (--max-failures)');
  });

  it('if the service asks to wait for more than a minute', () => {
    const { scheduler } = schedulerWith({});
    scheduler.addOutcome({ failure: limited(60_000), status: 'failed' });
    expect(scheduler.stopReason()).toBeUndefined();
    scheduler.addOutcome({ failure: limited(60_001), status: 'failed' });
    expect(scheduler.stopReason()).toBe('the service asks to wait 61 s');
  });
});
