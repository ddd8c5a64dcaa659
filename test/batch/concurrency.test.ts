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
  seededRandom,
  simulate,
  simulatedServices,
} from '../support/simulated-service.ts';

const steady = (capacity: number) => (): number => capacity;
const after =
  (before: number, later: number) =>
  (now: number): number =>
    now < 20_000 ? before : later;

const auto = (seed = 1, from = 0) => ({
  ...createConcurrencyLimit({ initial: 8, max: 256, maxHold: 'paid' }, seededRandom(seed)),
  from,
});

describe('the limit of concurrent requests', () => {
  it.each(simulatedServices)(
    'comes within 5 % of the best fixed one at a service of $name',
    ({ name, best, create }) => {
      const [fixed] = simulate(create(), [fixedLimit(best)], 30_000, 60_000);
      const [found] = simulate(create(), [auto()], 30_000, 60_000);
      const { done = 0, refused = 0 } = found ?? {};
      expect(done / (fixed?.done ?? 0), name).toBeGreaterThan(name.startsWith('500 ms, 1 ') ? 0.9 : 0.95);
      expect(refused / (done + refused), name).toBeLessThanOrEqual(0.02);
    },
  );

  it('reaches 200 results of 500 ms in 3 s where there is room', () => {
    const [found] = simulate(refusingService(500, steady(1000)), [auto()], 0, 3100);
    expect(found?.done).toBeGreaterThanOrEqual(200);
  });

  it('stays near the knee of a service that queues', () => {
    const client = auto();
    simulate(queueingService(500, steady(32)), [client], 0, 60_000);
    expect(client.current()).toBeGreaterThanOrEqual(30);
    expect(client.current()).toBeLessThanOrEqual(64);
  });

  it.each([1, 2, 3, 4])('stays small where pauses hide that more requests bring no more results: %d', (seed) => {
    const client = auto(seed);
    const limits: number[] = [];
    const current = (): number => {
      limits.push(client.current());
      return client.current();
    };
    simulate(pausingService(), [{ ...client, current }], 0, 120_000);
    expect(limits.reduce((sum, limit) => sum + limit, 0) / limits.length).toBeLessThan(48);
  });

  it.each([0, 3000])('shares a service among four processes that start %d ms apart', (delay) => {
    const service = () => refusingService(100, steady(32));
    const four = simulate(
      service(),
      [1, 2, 3, 4].map((seed, at) => auto(seed, at * delay)),
      60_000,
      120_000,
    );
    const [one] = simulate(service(), [auto()], 60_000, 120_000);
    const parts = four.map(({ done }) => done);
    const sum = parts.reduce((total, part) => total + part, 0);
    expect(sum / (one?.done ?? 0)).toBeGreaterThan(0.9);
    expect(Math.max(...parts) / Math.min(...parts)).toBeLessThan(2);
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
