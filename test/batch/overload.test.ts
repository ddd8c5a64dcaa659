import { expect, it } from 'vitest';
import { Failure, type FailureFacts } from '../../src/errors.ts';
import { simulateBatch } from '../support/simulated-batch.ts';
import { queueingService, refusingService, type SimulatedService } from '../support/simulated-service.ts';

const effect = 'paid';
const refused = (facts: FailureFacts): Failure => new Failure('rate_limited', 'refused', { effect, ...facts });
const broken = (code: 'unknown' | 'unreachable', facts: FailureFacts): Failure =>
  new Failure(code, 'broken', { effect, url: 'https://svc.test/x', reason: 'broken', ...facts });
const PROOF: FailureFacts = { status: 503, applied: 'no', isProvenRefusal: true };

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
  expect(result.refused).toBeLessThan(40);
  expect(result.done).toBeGreaterThan(0.75 * 900);
});

it.each([1, 2, 3])('a batch stays at the knee of a service whose latency grows: %d', async (seed) => {
  const service = queueingService(200, () => 16);
  const result = await simulateBatch({ service, failure: refused({}), from: 5000, to: 35_000, seed });
  expect(result.done).toBeGreaterThan(0.95 * 2400);
  expect(result.meanMs).toBeLessThan(250);
});
