import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runBuilt } from '../support/built.ts';
import { answerJson, countingServer } from '../support/counting-server.ts';
import { credentials, temporaryDirectory } from '../support/svc.ts';
import { chats, feedback } from './batch.ts';

const LINES = 120;
const LARGEST = 30;

/** The tokens of each line differ by its number; each response waits a little, so that many requests are in flight. */
const tokensOf = (line: number): number => 10 + ((line * 7) % (LARGEST - 9));

async function runChats(
  flags: readonly string[],
  usageOf: (line: number) => object,
  status = 200,
  profile: readonly string[] = [],
) {
  const cwd = temporaryDirectory();
  const lines = Array.from({ length: LINES }, (_, at) => `${JSON.stringify(chats.line(at + 1))}\n`);
  writeFileSync(join(cwd, 'in.jsonl'), lines.join(''));
  const sent: number[] = [];
  let inFlight = 0;
  let most = 0;
  const { url } = await countingServer(chats.keyOf, (body, response) => {
    const line = Number(/"p(\d+)"/.exec(body.text)?.[1]);
    sent.push(line);
    inFlight += 1;
    most = Math.max(most, inFlight);
    setTimeout(() => {
      inFlight -= 1;
      answerJson(response, Object.assign({}, chats.reply, usageOf(line)), status);
    }, 15);
  });
  const args = ['chat', '--batch', 'in.jsonl', '-o', 'out.jsonl', '--concurrency', '16', ...flags];
  const env = { ...credentials, SVC_CONFIG_DIR: cwd };
  if (profile.length > 0) {
    const stored = await runBuilt(['profile', 'set', 'work', '--base-url', url, ...profile], { cwd, env });
    if (stored.code !== 0) return { ...stored, sent, most };
  }
  const end = await runBuilt(args, { cwd, env: profile.length > 0 ? env : { ...env, SVC_BASE_URL: url } });
  return { ...end, sent, most };
}

const usage = (line: number) => ({ usage: { prompt_tokens: tokensOf(line) - 4, completion_tokens: 4 } });
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

describe('a limit of what a batch uses', () => {
  it('counts requests in flight, so that tokens exceed it by one response at most', async () => {
    const { code, stderr, sent, most } = await runChats(['--max-total-tokens', '700'], usage);
    expect(code, stderr).toBe(10);
    const used = sum(sent.map(tokensOf));
    expect(stderr).toContain(`--max-total-tokens 700 was reached: ${used} tokens were used`);
    expect(used).toBeGreaterThanOrEqual(700);
    expect(used).toBeLessThanOrEqual(700 + LARGEST);
    expect(most).toBeGreaterThan(4);
  });

  it.each([
    [
      'reported by the service',
      [],
      (line: number) => ({ usage: { ...usage(line).usage, cost: tokensOf(line) / 1000 } }),
    ],
    ['by prices', ['--price-prompt', '1000', '--price-completion', '1000'], usage],
  ] as const)('counts the cost %s', async (_, prices, usageOf) => {
    const { code, stderr, sent } = await runChats(['--max-cost', '0.7', ...prices], usageOf);
    expect(code, stderr).toBe(10);
    const cost = sum(sent.map(tokensOf)) / 1000;
    expect(stderr).toMatch(/--max-cost 0\.7 was reached: 0\.7\d* was spent/);
    expect(stderr).toContain(`cost: ${Number(cost.toPrecision(6))}`);
    expect(cost).toBeLessThanOrEqual((700 + LARGEST) / 1000 + 1e-9);
  });

  it('counts a line whose outcome is unknown as the average', async () => {
    const cwd = temporaryDirectory();
    writeFileSync(
      join(cwd, 'in.jsonl'),
      [1, 2, 3, 4, 5, 6].map((at) => `${JSON.stringify(chats.line(at))}\n`).join(''),
    );
    const { url, counts } = await countingServer(chats.keyOf, ({ text }, response) =>
      text.includes('"p2"')
        ? response.destroy()
        : answerJson(response, Object.assign({}, chats.reply, { usage: { prompt_tokens: 10 } })),
    );
    const flags = ['--max-total-tokens', '30', '--concurrency', '1', '--retries', '0'];
    const args = ['chat', '--batch', 'in.jsonl', '-o', 'out.jsonl', ...flags];
    const { stderr } = await runBuilt(args, { cwd, env: { ...credentials, SVC_BASE_URL: url } });
    expect(stderr).toContain('6 lines: 2 done, 0 failed, 1 unknown, 3 not sent');
    expect(counts.size).toBe(3);
  });

  it.each([
    ['--max-cost', [], 'a cost', 'set --price-prompt and --price-completion, or leave out --max-cost', usage],
    ['--max-cost', ['--price-prompt', '1'], 'usage', 'leave out --max-cost', () => ({})],
    ['--max-cost', ['--price-prompt', '1', '-q'], 'usage', 'leave out --max-cost', () => ({})],
    // A response that fails an expectation costs the same.
    ['--max-cost', ['--expect-text', 'x{99}'], 'a cost', 'leave out --max-cost', usage],
  ] as const)(
    'of a cost that it cannot count stops it after the first response: %s %j',
    async (flag, flags, lack, remedy, usageOf) => {
      const { code, stderr, sent } = await runChats([flag, '7', ...flags], usageOf);
      expect(code, stderr).toBe(13);
      expect(sent).toHaveLength(1);
      expect(stderr).toContain(`119 not sent`);
      expect(stderr.match(new RegExp(`${flag} 7 cannot be kept: a response came without ${lack}\n`, 'g'))).toHaveLength(
        1,
      );
      expect(stderr).toContain(`${remedy}; then continue with --resume`);
      expect(stderr).not.toContain('warning');
    },
  );

  it('of tokens goes on without usage, and says so once, also with -q', async () => {
    const { code, stderr, sent } = await runChats(['--max-total-tokens', '7', '-q'], () => ({}));
    expect(code, stderr).toBe(0);
    expect(sent).toHaveLength(120);
    expect(stderr.match(/--max-total-tokens did not count 120 responses without usage/g)).toHaveLength(1);
  });

  it('counts a response without a cost as the average of the others, and says so, also with -q', async () => {
    const { code, stderr, sent } = await runChats(['--max-cost', '10', '--concurrency', '1', '-q'], (line) =>
      line % 2 === 1 ? { usage: { cost: 1 } } : {},
    );
    expect(code, stderr).toBe(10);
    expect(sent).toHaveLength(10);
    expect(stderr).toContain('--max-cost 10 was reached: 10 was spent');
    expect(stderr.match(/--max-cost counted 5 responses without a cost as the average/g)).toHaveLength(1);
  });

  it('sends one request at a time until one can be counted', async () => {
    const { sent, most } = await runChats(['--max-cost', '10', '--limit', '10', '--retries', '0'], () => ({}), 422);
    expect(sent).toHaveLength(10);
    expect(most).toBe(1);
  });

  it('does not miss a cost of lines that an earlier run sent', async () => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'in.jsonl'), [1, 2, 3].map((at) => `${JSON.stringify(chats.line(at))}\n`).join(''));
    const { url } = await countingServer(chats.keyOf, (_, response) =>
      answerJson(response, Object.assign({}, chats.reply, { usage: { prompt_tokens: 10, completion_tokens: 1 } })),
    );
    const prices = ['--price-prompt', '1', '--price-completion', '1', '--max-cost', '9'];
    const args = ['chat', '--batch', 'in.jsonl', '-o', 'out.jsonl', ...prices];
    const setting = { cwd, env: { ...credentials, SVC_BASE_URL: url } };
    await runBuilt([...args, '--limit', '2'], setting);
    const { code, stderr } = await runBuilt([...args, '--limit', '3', '--resume'], setting);
    expect(code, stderr).toBe(0);
    expect(stderr).toContain('3 lines: 3 done');
    expect(stderr).not.toContain('did not count');
  });

  it.each([
    [
      'those of a profile',
      ['--profile', 'work'],
      ['--price-prompt', '1000', '--price-completion', '1000'],
      /--max-cost 0\.7 was reached: 0\.7/,
    ],
    [
      'a flag before that of a profile',
      ['--profile', 'work', '--price-prompt', '1000', '--price-completion', '1000'],
      ['--price-prompt', '0', '--price-completion', '0.001'],
      /--max-cost 0\.7 was reached: 0\.7/,
    ],
    [
      'one of each',
      ['--profile', 'work', '--price-completion', '1000'],
      ['--price-prompt', '1000'],
      /--max-cost 0\.7 was reached: 0\.7/,
    ],
    ['prices of 0', ['--profile', 'work'], ['--price-prompt', '0'], /cost: 0\n/],
  ] as const)('uses the prices: %s', async (_, flags, stored, text) => {
    const { code, stderr } = await runChats(['--max-cost', '0.7', ...flags], usage, 200, stored);
    expect(stderr).toMatch(text);
    expect(code).toBe(stored[1] === '0' && flags.length === 2 ? 0 : 10);
  });

  it('a price of a profile that is not an amount is an error', async () => {
    const { code, stderr, sent } = await runChats(['--profile', 'work'], usage, 200, ['--price-prompt', 'free']);
    expect(code, stderr).toBe(2);
    expect(stderr).toContain('--price-prompt');
    expect(sent).toEqual([]);
  });

  it.each([
    ['--max-cost', '0'],
    ['--max-cost', '1e3'],
    ['--price-prompt', '-1'],
    ['--token-rate', '0/m'],
    ['--token-rate', '10/d'],
  ])('%s %s is a wrong command line', async (flag, value) => {
    const { code, stderr, sent } = await runChats([`${flag}=${value}`], usage);
    expect(code, stderr).toBe(2);
    expect(stderr).toContain(flag);
    expect(sent).toEqual([]);
  });
});

it('lines that replace the same record are sent one after the other', async () => {
  const cwd = temporaryDirectory();
  const feedbackOf = (at: number) => JSON.parse(JSON.stringify(feedback.line(at)));
  const same = (at: number) => ({ ...feedbackOf(at), feedback_id: feedbackOf(1 + (at % 2)).feedback_id });
  const lines = Array.from({ length: 12 }, (_, at) => `${JSON.stringify(same(at + 1))}\n`);
  writeFileSync(join(cwd, 'in.jsonl'), lines.join(''));
  const inFlight = new Map<string, number>();
  const seen: number[] = [];
  const { url } = await countingServer(feedback.keyOf, ({ text }, response) => {
    const id: string = JSON.parse(text).feedback_id;
    inFlight.set(id, (inFlight.get(id) ?? 0) + 1);
    seen.push(inFlight.get(id) ?? 0);
    setTimeout(() => {
      inFlight.set(id, (inFlight.get(id) ?? 0) - 1);
      answerJson(response, feedback.reply);
    }, 10);
  });
  const args = ['feedback', 'replace', '--batch', 'in.jsonl', '-o', 'out.jsonl'];
  const { code, stderr } = await runBuilt(args, { cwd, env: { ...credentials, SVC_BASE_URL: url } });
  expect(code, stderr).toBe(0);
  expect(seen).toEqual(Array(12).fill(1));
});
