import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runBuilt } from '../support/built.ts';
import { type Answering, answerJson, countingServer } from '../support/counting-server.ts';
import { start, waitForExit } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';
import { chats } from './batch.ts';

const LINES = 120;
const ARGS = ['chat', '--batch', 'in.jsonl', '-o', 'out.jsonl'];

async function batch(answer: Answering, credentials: object = { SVC_TOKEN: 'tok-en-1' }) {
  const cwd = temporaryDirectory();
  const lines = Array.from({ length: LINES }, (_, at) => `${JSON.stringify(chats.line(at + 1))}\n`);
  writeFileSync(join(cwd, 'in.jsonl'), lines.join(''));
  const { url, counts } = await countingServer(chats.keyOf, answer);
  const env = { ...credentials, SVC_BASE_URL: url };
  const requests = (): number => [...counts.values()].reduce((sum, count) => sum + count, 0);
  return { cwd, requests, counts, options: { cwd, env } };
}

/** What the summary counts. */
function totals(stderr: string): { done: number; failed: number; unknown: number; unsent: number } {
  const [, done, failed, unknown, unsent] =
    /120 lines: (\d+) done, (\d+) failed, (\d+) unknown, (\d+) not sent/.exec(stderr) ?? [];
  return { done: Number(done), failed: Number(failed), unknown: Number(unknown), unsent: Number(unsent) };
}

const expired = (response: Parameters<Answering>[1]): void =>
  answerJson(response, { error: { message: 'token expired' } }, 401);
const done = (response: Parameters<Answering>[1]): void => answerJson(response, chats.reply);

describe('a token that expires in the middle of a batch', () => {
  it('and is renewed: one line at a time tries, then the rest is sent', async () => {
    let rejected = 0;
    const { requests, options, counts } = await batch((_, response) => {
      // Rejected credentials for those in flight, and for the first that tries.
      if (requests() <= 30 || rejected >= 28) return done(response);
      rejected += 1;
      expired(response);
    });
    const args = [...ARGS, '--concurrency', '8'];
    const { code, stderr } = await runBuilt(args, options);
    expect(code, stderr).toBe(10);
    expect(totals(stderr)).toEqual({ done: LINES - 28, failed: 28, unknown: 0, unsent: 0 });
    expect(requests()).toBe(LINES);
    const resumed = await runBuilt([...args, '--resume'], options);
    expect(resumed, resumed.stderr).toMatchObject({ code: 0, stderr: expect.stringContaining('120 lines: 120 done') });
    expect([...counts.values()].filter((count) => count > 1)).toHaveLength(28);
  });

  it('and is not renewed: few lines fail, and the rest is unsent and resumed', async () => {
    let isRenewed = false;
    let onTrial = (): void => {};
    const firstTrial = new Promise<void>((resolve) => {
      onTrial = resolve;
    });
    let rejected = 0;
    let failedAt = 0;
    const { requests, options, counts } = await batch((_, response) => {
      if (isRenewed || requests() <= 30) return done(response);
      rejected += 1;
      // After 20 rejections, only a line that tries comes after a wait.
      if (rejected > 20 && performance.now() - failedAt > 500) onTrial();
      failedAt = performance.now();
      expired(response);
    });
    const args = [...ARGS, '--concurrency', '8'];
    const child = start(args, options);
    const ended = waitForExit(child);
    await firstTrial;
    child.kill('SIGINT');
    const { code, stderr } = await ended;
    expect(code, stderr).toBe(130);
    expect(stderr).toContain('in a row, the last with: ');
    expect(stderr).toContain('; the batch waits and tries one line at a time, up to 10 times in 6 min\n');
    const { failed, unsent, unknown } = totals(stderr);
    expect(failed).toBeGreaterThanOrEqual(21);
    expect(failed).toBeLessThanOrEqual(30);
    expect({ unsent, unknown }).toEqual({ unsent: LINES - 30 - failed, unknown: 0 });
    isRenewed = true;
    const resumed = await runBuilt([...args, '--resume'], options);
    expect(resumed, resumed.stderr).toMatchObject({ code: 0, stderr: expect.stringContaining('120 lines: 120 done') });
    expect([...counts.values()].filter((count) => count > 1)).toHaveLength(failed);
  });

  it.each([
    ['--max-outage=0', { done: 30, failed: LINES - 30, unknown: 0, unsent: 0 }],
    ['--fail-fast', { done: 30, failed: 1, unknown: 0, unsent: LINES - 31 }],
  ])('is not waited for with %s', async (flag, counted) => {
    const { requests, options } = await batch((_, response) => (requests() <= 30 ? done(response) : expired(response)));
    const { code, stderr } = await runBuilt([...ARGS, flag, '--concurrency', '1'], options);
    expect(code, stderr).toBe(10);
    expect(totals(stderr)).toEqual(counted);
  });
});

it.each([401, 200])('a service that needs credentials, without any, is not waited for: status %d', async (status) => {
  const error = { error: { message: 'no key', code: 401 } };
  const { requests, options } = await batch((_, response) => answerJson(response, error, status), {});
  const { code, stderr } = await runBuilt([...ARGS, '--concurrency', '8'], options);
  expect(code, stderr).toBe(10);
  const { done: sent, failed, unknown, unsent } = totals(stderr);
  expect({ sent, failed, unknown }).toEqual({ sent: 0, failed: requests(), unknown: 0 });
  expect(failed).toBeGreaterThanOrEqual(20);
  expect(failed).toBeLessThan(28);
  expect(unsent).toBe(LINES - failed);
  expect(stderr).toContain('rejected the request without credentials');
  expect(stderr).toMatch(
    /\n {2}set SVC_TOKEN, or to store credentials, run: svc auth login .*; then continue with --resume\n/,
  );
  expect(stderr).not.toContain('the batch waits');
});

// What vLLM, a router and a proxy say of a request that they did not run.
const refusals: readonly [string, (response: Parameters<Answering>[1]) => void][] = [
  [
    '503 of a full queue',
    (response) =>
      answerJson(
        response,
        {
          error: {
            message: 'The engine is currently busy and cannot accept new requests',
            type: 'Service Unavailable',
            code: 503,
          },
        },
        503,
      ),
  ],
  [
    '429 of a router',
    (response) =>
      answerJson(response, { detail: 'full' }, 429, { 'x-llm-d-request-dropped-reason': 'rejected-saturated' }),
  ],
  ['503 of a proxy', (response) => answerJson(response, {}, 503, { 'x-envoy-overloaded': 'true' })],
];

describe.each(refusals)('lines that are refused with a proof: %s', (_, refuse) => {
  it('wait for their turn, and use no retries', async () => {
    let firstAt = 0;
    const { requests, options, cwd } = await batch((_body, response) => {
      firstAt ||= performance.now();
      if (requests() > 20 && performance.now() - firstAt < 2000) refuse(response);
      else done(response);
    });
    const { code, stderr } = await runBuilt([...ARGS, '--retries', '0'], options);
    expect(code, stderr).toBe(0);
    expect(totals(stderr)).toEqual({ done: LINES, failed: 0, unknown: 0, unsent: 0 });
    expect(requests()).toBeGreaterThan(LINES);
    expect(readFileSync(join(cwd, 'out.jsonl'), 'utf8')).not.toContain('"exit_code":9');
  });

  it('wait for --max-outage at most; then the batch stops, and the rest is unsent and resumed', async () => {
    let isFull = true;
    const { requests, options } = await batch((_body, response) => {
      if (isFull && requests() > 20) refuse(response);
      else done(response);
    });
    const { code, stderr } = await runBuilt([...ARGS, '--max-outage', '4s', '--retries', '0'], options);
    expect(code, stderr).toBe(10);
    expect(stderr).toContain('the service refused every request for 4 s (--max-outage)');
    const { done: sent, failed, unknown, unsent } = totals(stderr);
    expect({ sent, unknown }).toEqual({ sent: 20, unknown: 0 });
    expect(failed + unsent).toBe(LINES - 20);
    expect(failed).toBeLessThanOrEqual(1);
    isFull = false;
    const resumed = await runBuilt([...ARGS, '--resume'], options);
    expect(resumed, resumed.stderr).toMatchObject({ code: 0, stderr: expect.stringContaining('120 lines: 120 done') });
  });

  it.each([
    ['--max-outage=0', { done: 20, failed: LINES - 20, unknown: 0, unsent: 0 }],
    ['--fail-fast', { done: 20, failed: 1, unknown: 0, unsent: LINES - 21 }],
  ])('fail at once with %s', async (flag, counted) => {
    const { requests, options } = await batch((_body, response) =>
      requests() > 20 ? refuse(response) : done(response),
    );
    const { code, stderr } = await runBuilt([...ARGS, flag, '--retries', '0', '--concurrency', '1'], options);
    expect(code, stderr).toBe(10);
    expect(totals(stderr)).toEqual(counted);
  });
});
