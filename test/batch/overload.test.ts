import { describe, expect, it } from 'vitest';
import { Failure, type FailureFacts } from '../../src/errors.ts';
import { simulateBatch, simulateBatches } from '../support/simulated-batch.ts';
import {
  queueingService,
  ratedService,
  refusingService,
  type SimulatedService,
  sporadicService,
  windowedService,
} from '../support/simulated-service.ts';

const effect = 'paid';
const refused = (facts: FailureFacts): Failure => new Failure('rate_limited', 'refused', { effect, ...facts });
const broken = (code: 'unknown' | 'unreachable', facts: FailureFacts): Failure =>
  new Failure(code, 'broken', { effect, url: 'https://svc.test/x', reason: 'broken', ...facts });
// A status that is a sign of nothing without the proof.
const PROOF: FailureFacts = { status: 529, applied: 'no', isProvenRefusal: true };

// 200 ms, 6 at a time: 900 in 30 s. Without a sign in the code, 64 are in flight, and nine of ten are refused.
it.each<[string, Failure]>([
  ['429', refused({ status: 429, applied: 'no' })],
  ['a proof', refused(PROOF)],
  ['503 that proves nothing', broken('unknown', { status: 503, applied: 'unknown' })],
  ['a connection that times out', broken('unreachable', { phase: 'nothing', applied: 'no', isTimedOut: true })],
  ['a request that is cut', broken('unreachable', { phase: 'part', applied: 'no' })],
  ['a reset', broken('unknown', { phase: 'all', applied: 'unknown' })],
])('a batch stays at what fits, by its sign: %s', async (_, failure) => {
  const service = refusingService(200, () => 6);
  const {
    done,
    refused: refusals,
    requests,
    twice,
  } = await simulateBatch({ service, failure, from: 5000, to: 35_000 });
  expect(done).toBeGreaterThan(0.95 * 900);
  expect(refusals / requests).toBeLessThan(0.02);
  expect(twice).toBe(0);
});

it('a batch sends nothing while a Retry-After lasts', async () => {
  let closedUntil = 0;
  const inner = refusingService(200, () => 6);
  // Asks all clients to wait for 1 s as soon as one request is too many.
  const service: SimulatedService = (now, random, at, end) => {
    if (now < closedUntil) return at(now + 1, () => end(false));
    inner(now, random, at, (isDone) => {
      if (!isDone) closedUntil = now + 1000;
      end(isDone);
    });
  };
  const failure = refused({ status: 429, applied: 'no', retryAfterMs: 1000 });
  const result = await simulateBatch({ service, failure, from: 5000, to: 65_000 });
  expect(result.done).toBeGreaterThan(0.9 * 1800);
  expect(result.refused / result.requests).toBeLessThan(0.02);
});

it('a batch hardly tries a service that refuses everything with a proof, and loses no line', async () => {
  const service = refusingService(200, (now) => (now < 30_000 ? 0 : 6));
  const result = await simulateBatch({ service, failure: refused(PROOF), maxRetries: 0, to: 60_000 });
  expect(result.failed + result.unknown).toBe(0);
  expect(result.refused).toBeLessThan(60);
  expect(result.done).toBeGreaterThan(0.75 * 900);
});

it.each([1, 2, 3])('a batch stays at the knee of a service whose latency grows: %d', async (seed) => {
  const service = queueingService(200, () => 16);
  const result = await simulateBatch({ service, failure: refused({}), from: 5000, to: 35_000, seed });
  expect(result.done).toBeGreaterThan(0.95 * 2400);
  expect(result.meanMs).toBeLessThan(250);
});

it('processes that wait for the same moment do not send together', async () => {
  const [windowMs, slotMs] = [5000, 50];
  const from = 30_000;
  const service = windowedService(100, 300, windowMs);
  const failure = (now: number): Failure =>
    refused({ status: 429, applied: 'no', retryAfterMs: windowMs - (now % windowMs) });
  const seeds = [1, 2, 3, 4, 5, 6, 7, 8];
  const { sentAt } = await simulateBatches({ service, failure, max: 64, from, to: 90_000 }, seeds);
  const firstSlots = sentAt.filter((time) => time % windowMs < slotMs).length;
  const slotsOf = (time: number): number => Math.floor(time / slotMs);
  const mean = sentAt.length / new Set(sentAt.map(slotsOf)).size;
  expect(firstSlots / (60_000 / windowMs) / mean).toBeLessThan(1);
});

const rateLimit = refused({ status: 429, applied: 'no' });
const waitingRateLimit = refused({ status: 429, applied: 'no', retryAfterMs: 1000 });

// Before, 3.7 of 8 were in flight with 15 %, and 2.6 with 25 %.
describe.each([0.1, 0.15, 0.25])('a service that refuses %d of requests at any load', (share) => {
  it.each([1, 2, 3])('gets as many requests as --concurrency allows: %d', async (seed) => {
    const { service, meanInFlight } = sporadicService(100, share);
    const options = { concurrency: 8 };
    const { failed, requests } = await simulateBatch({
      ...{ service, failure: rateLimit, to: 60_000, seed, max: 8, options },
    });
    expect(meanInFlight()).toBeGreaterThan(6.5);
    expect(failed / requests).toBeLessThan(0.01);
  });

  it.each([1, 2, 3])('gets the maximum: %d', async (seed) => {
    const { service, meanInFlight } = sporadicService(100, share);
    await simulateBatch({ service, failure: rateLimit, to: 60_000, seed });
    expect(meanInFlight()).toBeGreaterThan(55);
  });

  // Before, every refusal stopped the batch for a second, and a tenth was done. At most 24 lines wait beside 8 in flight.
  it.each([1, 2, 3])('gets them also where each refusal asks for a wait: %d', async (seed) => {
    const { service, meanInFlight } = sporadicService(100, share);
    const { done } = await simulateBatch({
      service,
      failure: waitingRateLimit,
      from: 60_000,
      to: 90_000,
      seed,
      max: 8,
    });
    expect(meanInFlight()).toBeGreaterThan(6.5);
    expect(done).toBeGreaterThan(0.65 * (1 - share) * 2400);
  });
});

// Refusals as if each of them were a sign of load: 20.8, 17.5, 10.9, 10.6, 7.3, 3.6 and 0.1 %.
it.each<[string, () => SimulatedService, number]>([
  ['4 per second, 20 ms', () => windowedService(20, 4), 0.218],
  ['4 per second, 100 ms', () => windowedService(100, 4), 0.185],
  ['8 per second, 20 ms', () => windowedService(20, 8), 0.119],
  ['8 per second, 100 ms', () => windowedService(100, 8), 0.116],
  ['12 per second, 20 ms', () => windowedService(20, 12), 0.083],
  ['10 per second, filled up', () => ratedService(100, 10, 20), 0.046],
  ['6 at a time', () => refusingService(100, () => 6), 0.011],
])(
  'a limit with a Retry-After is kept, where a trial costs at most one request of 100: %s',
  async (_, create, most) => {
    const run = { failure: waitingRateLimit, to: 60_000, max: 8, options: { concurrency: 8 } };
    const seeds = [1, 2, 3, 4, 5, 6];
    const results = await Promise.all(seeds.map((seed) => simulateBatch({ ...run, service: create(), seed })));
    const sum = (name: 'refused' | 'requests'): number => results.reduce((total, result) => total + result[name], 0);
    expect(sum('refused') / sum('requests')).toBeLessThan(most);
  },
);

it('refusals that are not rate limits are signs of load at any share', async () => {
  const failure = broken('unreachable', { phase: 'part', applied: 'no' });
  const { service, meanInFlight } = sporadicService(100, 0.15);
  await simulateBatch({ service, failure, to: 30_000, max: 8 });
  expect(meanInFlight()).toBeLessThan(5);
});

// Without trials, 9.5 % are refused: trials that fail may cost some more.
it.each([1, 2, 3])('a rate limit is kept, which a smaller limit does not end: %d', async (seed) => {
  const service = ratedService(100, 50, 20);
  const { refused: refusals, requests, done } = await simulateBatch({ service, failure: rateLimit, to: 60_000, seed });
  expect(done).toBeGreaterThan(0.97 * 3000);
  expect(refusals / requests).toBeLessThan(0.14);
});

it.each([1, 2, 3])('after refusals at any load, a service that is full is respected again: %d', async (seed) => {
  const [sporadic, full] = [sporadicService(100, 0.15).service, refusingService(100, () => 6)];
  const service: SimulatedService = (now, ...rest) => (now < 20_000 ? sporadic : full)(now, ...rest);
  const result = await simulateBatch({ service, failure: rateLimit, from: 40_000, to: 100_000, seed });
  expect(result.done).toBeGreaterThan(0.95 * 3600);
  expect(result.refused / result.requests).toBeLessThan(0.03);
});
