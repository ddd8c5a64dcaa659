import { expect, it } from 'vitest';
import { type Effect, Failure, type FailureCode, type FailureFacts } from '../../src/errors.ts';

const sent = { phase: 'all', applied: 'unknown' } as const;
const refused = { phase: 'all', applied: 'no' } as const;
const done = { phase: 'all', applied: 'yes', status: 200 } as const;
const effects: readonly Effect[] = ['read', 'keyed', 'paid', 'once'];

/** Of read, keyed, paid and once: `r` svc retries it, `c` the same command can be run again, `-` neither. */
const kinds: readonly (readonly [kind: string, code: FailureCode, facts: FailureFacts, expected: string])[] = [
  ['no connection', 'unreachable', { phase: 'nothing', applied: 'no' }, 'rc rc rc rc'],
  [
    'no connection, for a lasting cause',
    'unreachable',
    { phase: 'nothing', applied: 'no', isPermanent: true },
    'c c c c',
  ],
  ['a proxy that requires a password', 'unreachable', { ...refused, status: 407, isPermanent: true }, 'c c c c'],
  ['a request that was cut', 'unreachable', { phase: 'part', applied: 'no' }, 'rc rc c c'],
  ['a lost response', 'unknown', sent, 'rc rc - -'],
  ['502', 'unknown', { ...sent, status: 502 }, 'rc rc - -'],
  ['500', 'failed', { ...sent, status: 500 }, 'rc rc - -'],
  ['501', 'failed', { ...sent, status: 501 }, '- - - -'],
  ['503', 'failed', { ...sent, status: 503 }, 'rc rc - -'],
  ['408', 'rate_limited', { ...refused, status: 408 }, 'rc rc rc c'],
  ['429', 'rate_limited', { ...refused, status: 429 }, 'rc rc rc rc'],
  ['429 with an exhausted quota', 'rate_limited', { ...refused, status: 429, isPermanent: true }, 'c c c c'],
  ['429 with a long wait', 'rate_limited', { ...refused, status: 429, retryAfterMs: 60_001 }, 'c c c c'],
  ['503 that proves a refusal', 'rate_limited', { ...refused, status: 503, isProvenRefusal: true }, 'rc rc rc c'],
  ['429 that proves nothing', 'unknown', { ...sent, status: 429 }, 'rc rc - -'],
  ['429 in an event after text', 'rate_limited', { ...done, status: 429 }, 'r r - -'],
  ['429 in a body beside usage', 'rate_limited', { ...sent, status: 429 }, 'rc rc - -'],
  ['401', 'credentials', { ...refused, status: 401 }, '- - - -'],
  ['404', 'refused', { ...refused, status: 404 }, '- - - -'],
  ['a 404 after a deletion', 'refused', { ...sent, status: 404 }, '- - - -'],
  ['an error under 200', 'invalid_response', { ...sent, status: 200 }, '- - - -'],
  ['a response that breaks the interface', 'invalid_response', done, '- - - -'],
  ['a response that was cut', 'invalid_response', { ...done, isTruncated: true }, 'r r - -'],
  ['an interruption', 'interrupted', { ...sent, isPermanent: true }, '- - - -'],
  ['a file', 'local_file', { ...refused, phase: 'nothing', isPermanent: true }, '- - - -'],
];

it.each(kinds)('%s', (_, code, facts, expected) => {
  const found = effects.map((effect) => {
    const { isRetryable, canRerun } = new Failure(code, code, { ...facts, effect }).resend;
    return `${isRetryable ? 'r' : ''}${canRerun ? 'c' : ''}` || '-';
  });
  expect(found.join(' ')).toBe(expected);
});

it('every failure carries what another attempt can cause, where that is in question', () => {
  for (const effect of effects)
    for (const [kind, code, facts] of kinds) {
      const { advice } = new Failure(code, code, { ...facts, effect }).resend;
      const isOpen = facts.applied === 'unknown' && code !== 'refused';
      if (isOpen) expect(advice, `${effect}: ${kind}`).toBeTypeOf('string');
      if (facts.applied === 'no') expect(advice, `${effect}: ${kind}`).toBeUndefined();
    }
});

it('a key that svc made is another one when the command runs again', () => {
  const facts = { ...sent, effect: 'keyed', status: 500 } as const;
  expect(new Failure('failed', 'x', { ...facts, hasGeneratedKey: true }).resend).toMatchObject({
    isRetryable: true,
    canRerun: false,
  });
});

it('a failure of anything but a request is never sent again', () => {
  expect(new Failure('usage', 'x').resend).toEqual({ isRetryable: false, canRerun: false, advice: undefined });
});
