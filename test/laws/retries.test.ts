import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { withRetries } from '../../src/client/retry.ts';
import { classifyStatus } from '../../src/client/verdict.ts';
import { Failure } from '../../src/errors.ts';
import type { Operation } from '../../src/operations/operation.ts';
import { svc } from '../support/svc.ts';

/** Whether a request with this effect is sent again after a response with this status. */
async function isRetried(effect: Operation['effect'], status: number, hasRetryAfter: boolean): Promise<boolean> {
  const { code = 'refused', applied } = classifyStatus(status, hasRetryAfter);
  let attempts = 0;
  const attempt = async (): Promise<void> => {
    attempts += 1;
    throw new Failure(code, code, { effect, status, applied, phase: 'all', attempts });
  };
  const hooks = { signal: new AbortController().signal };
  const runtime = {
    after: (_: number, action: () => void) => {
      queueMicrotask(action);
      return () => {};
    },
    randomBytes: () => new Uint8Array([0]),
  };
  await withRetries(attempt, { effect, connection: { maxRetries: 1 } }, () => 1000, hooks, runtime).catch(() => {});
  return attempts === 2;
}

it.each([
  { effect: 'paid', start: 'chat' },
  { effect: 'once', start: 'train' },
] as const)('help and guide name the statuses that $start retries', async ({ effect }) => {
  const always: string[] = [];
  const withHeader: string[] = [];
  for (let status = 300; status < 600; status += 1)
    if (await isRetried(effect, status, false)) always.push(String(status));
    else if (await isRetried(effect, status, true)) withHeader.push(`${status} with Retry-After`);
  const statuses = [...always, ...withHeader];
  const last = statuses.pop() ?? '';
  const wanted = ` on ${statuses.length === 0 ? last : `${statuses.join(', ')} and ${last}`}`;
  const plain = (text: string): string =>
    text
      .replaceAll('`', '')
      .replace(/, and /g, ' and ')
      .replace(/\s+/g, ' ');
  const rows = readFileSync(new URL('../../docs/exit-codes.md', import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .join('\n');
  for (const text of [(await svc(['help', 'retries'])).stdout, rows])
    expect(plain(text)).toMatch(new RegExp(`${wanted}(?! and|, \\d| with)`));
});
