import { describe, expect, it } from 'vitest';
import {
  createPermitHold,
  createRateLimiter,
  type RateLimiter,
  type RateLimiterPermit,
} from '../../src/batch/rate-limiter.ts';
import { clock } from '../support/clock.ts';

/** The granted permits, in order. */
function asked(pace: RateLimiter, count: number): RateLimiterPermit[] {
  const turns: RateLimiterPermit[] = [];
  for (let at = 0; at < count; at += 1) void pace.acquire().then((turn) => turns.push(turn));
  return turns;
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const never = new AbortController().signal;

describe('the rate limiter of a batch', () => {
  it('allows no more requests than the limit', async () => {
    const turns = asked(createRateLimiter({ concurrency: 3, rate: undefined }, clock(), never), 5);
    await settle();
    expect(turns).toHaveLength(3);
    turns[0]?.release('ok');
    await settle();
    expect(turns).toHaveLength(4);
  });

  it('keeps the next request waiting while a permit is held', async () => {
    const turns = asked(createRateLimiter({ concurrency: 1, rate: undefined }, clock(), never), 2);
    const hold = createPermitHold();
    await settle();
    turns[0]?.release('ok', 0, hold);
    await settle();
    expect(turns).toHaveLength(1);
    hold.end();
    hold.end();
    await settle();
    expect(turns).toHaveLength(2);
  });

  it('is halved once for all requests in flight when the service rate limits, and recovers one by one', async () => {
    const time = clock();
    const pace = createRateLimiter({ concurrency: 8, rate: undefined }, time, never);
    const turns = asked(pace, 40);
    await settle();
    expect(turns).toHaveLength(8);
    time.advance(1);
    for (const turn of turns.slice(0, 8)) turn.release('limited');
    expect(pace.currentLimit()).toBe(4);
    await settle();
    expect(turns).toHaveLength(12);
    time.advance(1);
    turns[8]?.release('limited');
    expect(pace.currentLimit()).toBe(2);
    const allowed: number[] = [];
    for (let at = 9; at < 40; at += 1) {
      turns[at]?.release('ok');
      allowed.push(pace.currentLimit());
      await settle();
    }
    expect(Math.max(...allowed)).toBe(8);
    expect(allowed).toEqual([...allowed].sort((left, right) => left - right));
    expect(turns).toHaveLength(40);
  });

  it('never falls below one', async () => {
    const time = clock();
    const pace = createRateLimiter({ concurrency: 4, rate: undefined }, time, never);
    for (let round = 0; round < 6; round += 1) {
      const turn = await pace.acquire();
      time.advance(1);
      turn.release('limited');
    }
    expect(pace.currentLimit()).toBe(1);
  });

  it('holds all requests as long as the service asks to wait', async () => {
    const time = clock();
    const turns = asked(createRateLimiter({ concurrency: 4, rate: undefined }, time, never), 6);
    await settle();
    turns[0]?.release('limited', 5000);
    turns[1]?.release('ok');
    turns[2]?.release('ok');
    turns[3]?.release('ok');
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
  ])('%d a second: in %d ms about %d leave, never more than one at once', async (rate, milliseconds, expected) => {
    const time = clock();
    const pace = createRateLimiter({ concurrency: 1000, rate }, time, never);
    const turns = asked(pace, 500);
    const step = Math.min(5, 1000 / rate);
    for (let at = 0; at < milliseconds; at += step) {
      const before = turns.length;
      time.advance(step);
      await settle();
      expect(turns.length - before).toBeLessThanOrEqual(2);
    }
    expect(Math.abs(turns.length - expected)).toBeLessThanOrEqual(Math.max(2, expected * 0.1));
  });

  it('never waits longer than a timer can', async () => {
    const time = clock();
    const waits: number[] = [];
    const after: typeof time.after = (milliseconds, action) => {
      waits.push(milliseconds);
      return time.after(milliseconds, action);
    };
    const turns = asked(
      createRateLimiter({ concurrency: 8, rate: 1 / 3_600_000 }, { elapsed: time.elapsed, after }, never),
      2,
    );
    await settle();
    time.advance(2 ** 31 - 1);
    await settle();
    expect(turns).toHaveLength(1);
    time.advance(3_600_000_001 - (2 ** 31 - 1));
    await settle();
    expect(turns).toHaveLength(2);
    expect(Math.max(...waits)).toBe(2 ** 31 - 1);
  });

  it('ends all waits with the signal', async () => {
    const controller = new AbortController();
    const pace = createRateLimiter({ concurrency: 1, rate: undefined }, clock(), controller.signal);
    await pace.acquire();
    const waits = [pace.acquire(), pace.acquire()].map((wait) => wait.catch((reason: unknown) => reason));
    controller.abort('enough');
    expect(await Promise.all(waits)).toEqual(['enough', 'enough']);
    await expect(pace.acquire()).rejects.toBe('enough');
  });
});
