import { describe, expect, it } from 'vitest';
import type { SendHooks } from '../../src/client/request.ts';
import { retryDelayMs, withRetries } from '../../src/client/retry.ts';
import { Failure, type FailureFacts, InterruptedError } from '../../src/errors.ts';
import { retryAfterMs } from '../../src/http/message.ts';
import type { Operation } from '../../src/operations/operation.ts';
import type { Runtime } from '../../src/runtime.ts';
import { clock } from '../support/clock.ts';

const failing = (code: 'failed' | 'rate_limited' | 'unknown' | 'unreachable', facts: FailureFacts): Failure =>
  new Failure(code, code, {
    effect: 'keyed',
    status: code === 'unreachable' ? undefined : 503,
    phase: 'all',
    attempts: 1,
    ...facts,
  });
const busy = failing('rate_limited', { applied: 'no' });
const lost = failing('unknown', { applied: 'unknown' });
const rejected = failing('failed', { applied: 'no', isPermanent: true });
const refused = failing('unreachable', { applied: 'no', phase: 'nothing' });

/** Attempts that fail like this, one after the other, and then succeed. */
function attempts(...failures: Failure[]): { attempt: () => Promise<string>; made: () => number } {
  let made = 0;
  return {
    made: () => made,
    attempt: async () => {
      const failure = failures[made];
      made += 1;
      if (failure) throw failure;
      return 'done';
    },
  };
}

interface Limits extends Partial<Pick<SendHooks, 'signal' | 'waitSignal'>> {
  readonly maxRetries?: number;
  readonly remainingMs?: () => number;
  readonly effect?: Operation['effect'];
  readonly after?: Runtime['after'];
}

/** Retries on a clock whose waits take no time, and the milliseconds of each wait. */
function repeats({ remainingMs = () => 100_000, effect = 'keyed', maxRetries = 3, ...more }: Limits = {}) {
  const waits: number[] = [];
  const after: Runtime['after'] = (milliseconds, action) => {
    waits.push(milliseconds);
    queueMicrotask(action);
    return () => {};
  };
  const hooks = { signal: new AbortController().signal, ...more };
  const runtime = { after, randomBytes: () => new Uint8Array([255]), ...more };
  const request = { effect, connection: { maxRetries } };
  const run = (attempt: () => Promise<string>) => withRetries(attempt, request, remainingMs, hooks, runtime);
  return { run, waits };
}

describe('retries', () => {
  it('wait longer each time, up to 20 s, and never less than the service asked for', async () => {
    const { run, waits } = repeats({ maxRetries: 9 });
    await run(attempts(...Array(9).fill(busy)).attempt);
    expect(waits).toEqual([250, 500, 1000, 2000, 4000, 8000, 16_000, 20_000, 20_000]);
    for (const random of [0, 0.5, 1])
      expect(retryDelayMs(1, failing('rate_limited', { retryAfterMs: 7000 }), random)).toBeGreaterThanOrEqual(7000);
    expect(retryDelayMs(5, busy, 0)).toBe(0);
  });

  it.each([
    ['that would end after the deadline are not begun', [busy], { remainingMs: () => 200 }, 1],
    [
      'asked for later than the deadline are not begun',
      [failing('rate_limited', { retryAfterMs: 5000 })],
      { remainingMs: () => 4000 },
      1,
    ],
    ['asked for in more than a minute are not begun', [failing('rate_limited', { retryAfterMs: 60_001 })], {}, 1],
    ['of lasting failures are not begun', [failing('rate_limited', { isPermanent: true })], {}, 1],
    ['are none with 0', [busy], { maxRetries: 0 }, 1],
    ['end with the number that was given', [busy, busy, busy, busy, busy], {}, 4],
  ])('%s', async (_, failures: Failure[], more: Limits, made) => {
    const script = attempts(...failures);
    await expect(repeats(more).run(script.attempt)).rejects.toBeInstanceOf(Failure);
    expect(script.made()).toBe(made);
  });

  it.each([
    ['a refusal after a lost answer does not take it back', [lost, refused, refused, refused], 'unknown', 'unknown'],
    ['a lost answer after refusals counts', [refused, busy, lost, refused], 'unknown', 'unknown'],
    ['refusals alone are refusals', [refused, refused, refused, refused], 'unreachable', 'no'],
    ['the last of equals is reported', [refused, refused, refused, busy], 'rate_limited', 'no'],
  ] as const)('%s', async (_, failures, code, applied) => {
    const error = await repeats()
      .run(attempts(...failures).attempt)
      .catch((thrown) => thrown);
    expect({ code: error.code, applied: error.facts.applied }).toEqual({ code, applied });
  });

  it('add the message of the last attempt to an unknown outcome, once', async () => {
    const last = failing('rate_limited', {
      applied: 'no',
      attempts: 4,
      issues: [{ path: 'start', message: 'too long' }],
      hint: 'later',
      retryAfterMs: 7,
    });
    const early = failing('unknown', { applied: 'unknown', hint: 'safe', ids: { call: '1' } });
    const error = await repeats()
      .run(attempts(early, busy, busy, last).attempt)
      .catch((thrown) => thrown);
    const { issues, retryAfterMs } = last.facts;
    expect(error.message).toBe('unknown; the last attempt: rate_limited');
    expect(error.facts).toEqual({ ...early.facts, attempts: 4, issues, retryAfterMs, hint: 'safe; later' });
  });

  it('of a request that only reads end with the last failure', async () => {
    const error = repeats({ effect: 'read' }).run(attempts(lost, rejected).attempt);
    await expect(error).rejects.toBe(rejected);
  });

  it('can be interrupted while they wait, and report the attempts before', async () => {
    const { after } = clock();
    const signal = AbortSignal.abort(new InterruptedError('SIGINT'));
    const interrupted = { after, signal };
    const stopped = { after, waitSignal: signal };
    const error = await repeats(interrupted)
      .run(attempts(lost).attempt)
      .catch((thrown) => thrown);
    expect(error).toMatchObject({ code: 'interrupted', facts: { applied: 'unknown' } });
    // A batch that stops sends no signal to the process.
    const outcome = await repeats(stopped)
      .run(attempts(lost).attempt)
      .catch((thrown) => thrown);
    expect(outcome).toBe(lost);
    const early = await repeats(stopped)
      .run(attempts(busy).attempt)
      .catch((thrown) => thrown);
    expect(early).toMatchObject({ code: 'interrupted', facts: { applied: 'no', attempts: 1 } });
  });
});

describe('how long a service asks to wait', () => {
  const now = Date.parse('2026-01-01T00:00:00Z');
  it.each([
    [[['Retry-After', '7']], 7000],
    [[['retry-after', '0']], 0],
    [[['Retry-After', '1.5']], 1500],
    [
      [
        ['Retry-After-Ms', '250'],
        ['Retry-After', '9'],
      ],
      9000,
    ],
    [[['Retry-After', ' 2\t']], 2000],
    [[['Retry-After', '2, 3']], 3000],
    [
      [
        ['Retry-After', '1'],
        ['Retry-After', '3'],
      ],
      3000,
    ],
    [[['Retry-After', '2, Thu, 01 Jan 2026 00:00:30 GMT']], 30_000],
    [[['Retry-After-Ms', '0.5']], 1],
    [[['Retry-After', 'Thu, 01 Jan 2026 00:00:30 GMT']], 30_000],
    [
      [
        ['Retry-After', 'Thu, 01 Jan 2026 00:00:30 GMT'],
        ['Date', 'Thu, 01 Jan 2026 00:00:20 GMT'],
      ],
      10_000,
    ],
    [[['Retry-After', 'Wed, 31 Dec 2025 00:00:00 GMT']], 0],
    [[['Retry-After', '-5']], undefined],
    [[['Retry-After', 'soon']], undefined],
    [[], undefined],
  ] as [headers: [string, string][], wait: number | undefined][])('%j is %s ms', (headers, wait) => {
    expect(retryAfterMs(headers, now)).toBe(wait);
  });
});
