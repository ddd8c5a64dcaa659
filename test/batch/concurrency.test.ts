import { describe, expect, it } from 'vitest';
import { concurrencyRange, createConcurrencyLimit } from '../../src/batch/send/concurrency.ts';
import { callStartOperation } from '../../src/operations/call-start.ts';
import { chatOperation } from '../../src/operations/chat.ts';
import { feedbackReplaceOperation } from '../../src/operations/feedback-replace.ts';
import { feedbackSchemaOperation } from '../../src/operations/feedback-schema.ts';
import { trainOperation } from '../../src/operations/train.ts';
import {
  fixedLimit,
  pausingService,
  queueingService,
  refusingService,
  type SimulatedService,
  seededRandom,
  sharedProcessor,
  simulate,
  simulatedServices,
} from '../support/simulated-service.ts';

const steady = (capacity: number) => (): number => capacity;
const after =
  (before: number, later: number) =>
  (now: number): number =>
    now < 20_000 ? before : later;

const SEEDS = [1, 2, 3, 4];

const auto = (seed = 1, from = 0, to = Number.POSITIVE_INFINITY, max = 256) => ({
  ...createConcurrencyLimit({ initial: 8, max, maxHold: 'paid' }, seededRandom(seed)),
  ...{ from, to },
});

function slowing(latencyMs: number, perRequestMs: number): SimulatedService {
  let busy = 0;
  return (now, _, at, end) => {
    busy += 1;
    at(now + latencyMs + perRequestMs * busy, () => {
      busy -= 1;
      end(true);
    });
  };
}

describe('the limit of concurrent requests', () => {
  it.each(simulatedServices)(
    'comes within 5 % of the best fixed one at a service of $name',
    ({ name, best, create }) => {
      for (const seed of SEEDS) {
        const [fixed] = simulate(create(), [fixedLimit(best)], 30_000, 60_000, seed);
        const [found] = simulate(create(), [auto(seed)], 30_000, 60_000, seed);
        const { done = 0, refused = 0 } = found ?? {};
        expect(done / (fixed?.done ?? 0), `seed ${seed}`).toBeGreaterThan(name.startsWith('500 ms, 1 ') ? 0.9 : 0.95);
        expect(refused / (done + refused), `seed ${seed}`).toBeLessThanOrEqual(0.02);
      }
    },
  );

  // Four rounds, of 8, 24, 72 and the rest.
  it.each(SEEDS)('reaches 200 results of 500 ms in four rounds where there is room: %d', (seed) => {
    const [found] = simulate(refusingService(500, steady(1000)), [auto(seed)], 0, 2150, seed);
    expect(found?.done).toBeGreaterThanOrEqual(200);
  });

  it('tries little more at a service that refuses a large number', () => {
    const [found] = simulate(refusingService(500, steady(200)), [auto()], 30_000, 120_000);
    const { done = 0, refused = 0 } = found ?? {};
    expect(done).toBeGreaterThan(0.95 * 200 * 180);
    expect(refused / done).toBeLessThan(0.002);
  });

  it('stays near the knee of a service that queues', () => {
    const client = auto();
    simulate(queueingService(500, steady(32)), [client], 0, 60_000);
    expect(client.current()).toBeGreaterThanOrEqual(30);
    expect(client.current()).toBeLessThanOrEqual(64);
  });

  it.each([
    ['pauses hide it', pausingService],
    ['the processor is shared', sharedProcessor],
  ])('stays small where more requests bring no more results and %s', (_, create) => {
    for (const seed of SEEDS) {
      const client = auto(seed);
      const limits: number[] = [];
      const current = (): number => {
        limits.push(client.current());
        return client.current();
      };
      simulate(create(), [{ ...client, current }], 0, 60_000, seed);
      expect(limits.reduce((sum, limit) => sum + limit, 0) / limits.length, `seed ${seed}`).toBeLessThan(24);
      expect(Math.max(...new Set(limits)), `seed ${seed}`).toBeLessThan(128);
    }
  });

  // A busy machine delays some requests of a round, or all of them by little; a queue delays all of them.
  it.each<[string, SimulatedService]>([
    [
      'delays some requests for a second at a time',
      (now, random, at, end) => {
        const isDelayed = now % 2000 > 1000 && random() < 0.7;
        at(now + 100 * (isDelayed ? 1 + random() : 1), () => end(true));
      },
    ],
    ['takes a little longer for each request in flight', slowing(5, 0.1)],
  ])('goes to the maximum on a machine that %s', (_, service) => {
    for (const seed of SEEDS) {
      const { done = 0 } = simulate(service, [auto(seed, 0, undefined, 64)], 5000, 30_000, seed)[0] ?? {};
      const [most] = simulate(service, [fixedLimit(64)], 5000, 30_000, seed);
      expect(done / (most?.done ?? 0), `seed ${seed}`).toBeGreaterThan(0.985);
    }
  });

  it.each(SEEDS)('follows responses that become longer, where there is room: %d', (seed) => {
    const lengthening = (): SimulatedService => (now, random, at, end) =>
      at(now + (now < 5000 ? 500 : 1500) * (0.25 + 1.5 * random()), () => end(true));
    const client = auto(seed);
    simulate(lengthening(), [client], 0, 60_000, seed);
    expect(client.current()).toBeGreaterThan(192);
  });

  // Whether the service refuses or queues what does not fit: the capacity is 19,200 in a minute.
  describe.each([
    ['refuses', refusingService],
    ['queues', queueingService],
  ])('shares a service that %s', (_, create) => {
    it.each([
      ['start together', 0, Number.POSITIVE_INFINITY],
      ['start 3 s apart', 3000, Number.POSITIVE_INFINITY],
      ['start 10 s apart', 10_000, Number.POSITIVE_INFINITY],
      ['start 20 s apart', 20_000, Number.POSITIVE_INFINITY],
      ['run on after one that ends', 0, 45_000],
    ])('among four processes that %s, for each seed', (__, delay, firstEnd) => {
      for (let seed = 1; seed <= 10; seed += 1) {
        const clients = SEEDS.map((own, at) => auto(10 * seed + own, at * delay, at === 0 ? firstEnd : undefined));
        const from = 60_000 + 3 * delay;
        const counts = simulate(create(100, steady(32)), clients, from, from + 60_000, seed);
        const parts = counts.map(({ done }) => done).filter((done) => done > 0);
        const refused = counts.reduce((sum, count) => sum + count.refused, 0);
        const done = parts.reduce((sum, part) => sum + part, 0);
        expect(Math.max(...parts) / Math.min(...parts), `seed ${seed}`).toBeLessThan(1.9);
        expect(done, `seed ${seed}`).toBeGreaterThan(0.95 * 19_200);
        expect(refused / (done + refused), `seed ${seed}`).toBeLessThan(0.02);
      }
    });
  });

  // Of 3,600; with room for six, a share is one request or two, and three for a while.
  it('leaves none of four processes without a share where six requests have room', () => {
    for (let seed = 1; seed <= 20; seed += 1) {
      const clients = SEEDS.map((own) => auto(10 * seed + own));
      const done = simulate(refusingService(100, steady(6)), clients, 60_000, 120_000, seed).map((count) => count.done);
      expect(Math.max(...done) / Math.min(...done), `seed ${seed}: ${done}`).toBeLessThan(3.2);
    }
  });

  it('never exceeds a number that was given, and shrinks below it', () => {
    const limit = createConcurrencyLimit({ initial: 50, max: 50, maxHold: 'paid' }, seededRandom(1));
    const [count] = simulate(refusingService(20, steady(10)), [limit], 5000, 10_000);
    expect(limit.current()).toBeLessThanOrEqual(11);
    expect((count?.refused ?? 0) / (count?.done ?? 1)).toBeLessThan(0.02);
    const free = createConcurrencyLimit({ initial: 50, max: 50, maxHold: 'paid' }, seededRandom(1));
    let most = 0;
    const current = (): number => {
      most = Math.max(most, free.current());
      return free.current();
    };
    simulate(refusingService(20, steady(1000)), [{ ...free, current }], 0, 5000);
    expect(most).toBe(50);
    expect(free.current()).toBe(50);
    const queued = createConcurrencyLimit({ initial: 50, max: 50, maxHold: 'paid' }, seededRandom(1));
    simulate(queueingService(20, after(50, 10)), [queued], 0, 60_000);
    expect(queued.current()).toBe(50);
  });
});

it.each([
  [chatOperation, 64, 'paid'],
  [feedbackReplaceOperation, 64, 'paid'],
  [feedbackSchemaOperation, 256, 'safe'],
  [callStartOperation, 256, 'safe'],
  [trainOperation, 2, 'jobs'],
])('$command.0 $command.1 may have so many requests in flight: %#', (operation, max, maxHold) => {
  const options = { concurrency: 'auto', isFailFast: false, maxFailures: undefined } as const;
  expect(concurrencyRange(options, operation)).toEqual({ initial: Math.min(8, max), max, maxHold });
  const failFast = concurrencyRange({ ...options, isFailFast: true }, operation);
  expect(failFast).toMatchObject({ max: Math.min(8, max), maxHold: max < 8 ? maxHold : 'failure_flags' });
  expect(concurrencyRange({ ...options, concurrency: 50 }, operation)).toEqual({
    ...{ initial: 50, max: 50, maxHold: 'concurrency' },
  });
});
