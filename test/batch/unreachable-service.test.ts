import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Send } from '../../src/http/message.ts';
import { after } from '../support/clock.ts';
import { answering, serviceEnv as env } from '../support/service.ts';
import { svc, temporaryDirectory } from '../support/svc.ts';

const { send: answer } = answering('{"choices":[{"index":0,"message":{"content":"x"},"finish_reason":"stop"}]}');

/** A batch of 40 chats; each attempt, by its number from 1, gets a network error or a response. */
function batch(errorOf: (attempt: number) => string | undefined) {
  const cwd = temporaryDirectory();
  writeFileSync(join(cwd, 'in.jsonl'), '{"messages":[{"role":"user","content":"hi"}]}\n'.repeat(40));
  let attempts = 0;
  const send: Send = async (request) => {
    attempts += 1;
    const code = errorOf(attempts);
    if (code === undefined) return answer(request);
    throw Object.assign(new Error(code), { code });
  };
  return {
    attempts: () => attempts,
    run: (...args: string[]) =>
      svc(['chat', '--batch', 'in.jsonl', '-o', 'out.jsonl', '--concurrency', '4', ...args], {
        cwd,
        env,
        send,
        // Waits between probes are shorter than in use.
        runtime: { after: (milliseconds, action) => after(milliseconds / 50, action) },
      }),
  };
}

describe('a batch that cannot connect', () => {
  it.each([
    ['ENOTFOUND', 'host not found'],
    ['CERT_HAS_EXPIRED', 'the server certificate has expired'],
  ])('for a permanent cause (%s) stops at once, and its lines are sent later', async (code, cause) => {
    let isFixed = false;
    const { run, attempts } = batch(() => (isFixed ? undefined : code));
    const { code: exitCode, stderr } = await run();
    expect(exitCode, stderr).toBe(10);
    expect(stderr).toContain('40 lines: 0 done, 0 failed, 0 unknown, 40 not sent');
    expect(stderr).toContain(`; could not connect to https://svc.test: ${cause}\n`);
    expect(attempts()).toBeLessThanOrEqual(4);
    isFixed = true;
    const resumed = await run('--resume');
    expect(resumed).toMatchObject({ code: 0, stderr: expect.stringContaining('40 lines: 40 done') });
  });

  it('to a host that it was connected to before waits for it', async () => {
    const { run, attempts } = batch((attempt) => (attempt > 10 && attempt <= 18 ? 'ENOTFOUND' : undefined));
    const { code, stderr } = await run();
    expect(code, stderr).toBe(0);
    const waits = 'the batch waits and retries with one line at a time, for up to 300 s (--max-outage)\n';
    expect(stderr).toContain(`host not found; ${waits}`);
    expect(attempts()).toBe(48);
  });

  it.each(['--fail-fast', '--max-outage=0'])('fails lines at once with %s', async (flag) => {
    const { run } = batch(() => 'ENOTFOUND');
    const { code, stderr } = await run(flag);
    expect(code, stderr).toBe(10);
    expect(stderr).toMatch(/40 lines: 0 done, [1-9]\d* failed, 0 unknown, \d+ not sent/);
  });

  it.each([
    [['--max-outage=10s'], 'could not connect for 10 s (--max-outage) to https://svc.test: connection refused'],
    [['--fail-fast'], 'a line failed (--fail-fast)'],
    [['--max-failures=2', '--max-outage=0', '--retries=2'], '3 lines failed (--max-failures)'],
    [['--max-outage=0', '--retries=1'], undefined],
  ])('says in JSON why it stopped, and after how many requests, with %s', async (flags, stopped) => {
    const { run, attempts } = batch(() => 'ECONNREFUSED');
    const { code, stderr } = await run('--error-format=json', ...flags);
    const { error } = JSON.parse(stderr.trim().split('\n').at(-1) ?? '');
    expect(code, stderr).toBe(10);
    expect(error).toMatchObject({ attempts: attempts(), message: expect.stringContaining(stopped ?? '40 lines') });
    expect(error.stopped).toBe(stopped);
  });

  it('sends a training job that waited for it once, as the same job', async () => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'jobs.jsonl'), '{"model_id":"m","trajectory_groups":[{"trajectories":[]}]}\n');
    let attempts = 0;
    const { send: accept } = answering('{"id":"job-1"}');
    const send: Send = async (request) => {
      attempts += 1;
      if (attempts > 3) return accept(request);
      throw Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
    };
    const runtime = { after: (milliseconds: number, action: () => void) => after(milliseconds / 50, action) };
    const args = ['train', '--batch', 'jobs.jsonl', '-o', 'out.jsonl', '--no-check'];
    const { code, stderr } = await svc(args, { cwd, env, send, runtime });
    expect(code, stderr).toBe(0);
    expect(attempts).toBe(4);
  });
});
