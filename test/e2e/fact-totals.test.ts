import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runBuilt } from '../support/built.ts';
import { httpAnswer, rawServer } from '../support/raw-server.ts';
import { temporaryDirectory } from '../support/svc.ts';

interface Answer {
  readonly text: string;
  readonly reason: string;
  readonly headers?: string;
  readonly usage?: object;
}

const usage = { prompt_tokens: 9, completion_tokens: 2 };
const answers: readonly Answer[] = [
  { text: 'a', reason: 'stop', usage: { ...usage, cost: 0.1, prompt_tokens_details: { cached_tokens: 4 } } },
  { text: 'b', reason: 'stop', usage: { ...usage, cost: 0.2, prompt_tokens_details: { cached_tokens: 8 } } },
  { text: 'c', reason: 'length', headers: 'x-litellm-response-cost: 0.3\r\nx-request-id: r-3\r\n', usage },
  { text: '', reason: 'stop' },
];

function answerFor(text: string): string {
  const {
    text: content = '',
    reason = '',
    headers = '',
    usage: used = {},
  } = answers[Number(/line (\d)/.exec(text)?.[1])] ?? {};
  const body = { model: 'm', choices: [{ index: 0, message: { content }, finish_reason: reason }], usage: used };
  return httpAnswer(JSON.stringify(body), '200 OK', headers);
}

async function serve() {
  const { url } = await rawServer((socket, request) => socket.end(answerFor(request.toString())));
  return { SVC_TOKEN: 'token-1', SVC_MODEL: 'm', SVC_BASE_URL: url };
}

const body = (at: number): string => JSON.stringify({ messages: [{ role: 'user', content: `line ${at}` }] });

it('a report prices the tokens of responses without a cost, by its flags and by the profile', async () => {
  const cwd = temporaryDirectory();
  const lines = [undefined, 0.5].map((cost, at) => resultLine(at + 1, cost)).join('');
  writeFileSync(join(cwd, 'out.jsonl'), lines);
  const costOf = async (args: readonly string[], env = {}): Promise<unknown> => {
    const { code, stdout, stderr } = await runBuilt(['batch', 'report', 'out.jsonl', ...args], { cwd, env });
    expect(code, stderr).toBe(0);
    return JSON.parse(stdout).cost;
  };
  expect(await costOf([])).toBe(0.5);
  expect(await costOf(['--price-prompt', '100000', '--price-completion', '50000'])).toBe(0.5 + 0.9 + 0.1);
  const stored = await runBuilt(['profile', 'set', 'priced', '--price-prompt', '100000'], { cwd });
  expect(stored.code, stored.stderr).toBe(0);
  expect(await costOf([], { SVC_PROFILE: 'priced' })).toBe(0.5 + 0.9);
  expect(await costOf([], { SVC_PROFILE: 'missing' })).toBe(0.5);
});

const resultLine = (line: number, cost: number | undefined): string =>
  `${JSON.stringify({
    ...{ line, id: null, status: 200, exit_code: 0, applied: 'yes', cost, prompt_tokens: 9, completion_tokens: 2 },
    ...{ response: { choices: [], usage }, attempts: 1, ms: 1 },
    checkpoint: { input: '0123456789abcdef', run: 'r', operation: '/v1/chat/completions', shard: '1/1' },
  })}\n`;

it('a batch counts finish reasons, empty responses, cost and cached tokens, in every report', async () => {
  const cwd = temporaryDirectory();
  const env = await serve();
  writeFileSync(join(cwd, 'rows.csv'), `prompt\n${answers.map((_, at) => `line ${at}\n`).join('')}`);
  const args = ['chat', '--rows', 'rows.csv', '{{prompt}}', '-o', 'out.jsonl', '--summary', 's.md', '--junit', 'j.xml'];
  const sent = await runBuilt(args, { env, cwd });
  const totals = [
    ...['cost: 0.6 (3 of 4 responses)', 'cached tokens: 12 (2 of 4 responses)'],
    ...['finish reasons: stop 3, length 1', 'empty responses: 1'],
  ];
  const report = await runBuilt(['batch', 'report', 'out.jsonl', '--format', 'text', '--html', 'report.html'], { cwd });
  const [summary, page, junit] = ['s.md', 'report.html', 'j.xml'].map((name) => readFileSync(join(cwd, name), 'utf8'));
  for (const text of [sent.stderr, report.stdout, summary?.replace(/&#(\d+);/g, ' '), page])
    for (const total of totals) expect(text).toContain(total);
  for (const text of [sent.stderr, report.stdout]) expect(text).toContain('tokens: 27 in, 6 out (3 of 4 responses)');
  expect(junit).toContain('<property name="cost" value="0.3"/>');
  expect(junit).toContain('<property name="request_id" value="r-3"/>');
  const json = await runBuilt(['batch', 'report', 'out.jsonl', '--json'], { cwd });
  expect(JSON.parse(json.stdout)).toMatchObject({
    cost: 0.6,
    cached_tokens: 12,
    finish_reasons: { stop: 3, length: 1 },
    empty_responses: 1,
    responses: 4,
    responses_with: { tokens: 3, cost: 3, cached_tokens: 2 },
  });
  const columns = ['--join', 'rows.csv', '--columns', 'text,cost,cached_tokens', '-o', 'joined.csv'];
  await runBuilt(['batch', 'merge', 'out.jsonl', ...columns], { cwd });
  const table = readFileSync(join(cwd, 'joined.csv'), 'utf8').split(/\r?\n/);
  expect(table).toEqual(expect.arrayContaining(['line 0,a,0.1,4', 'line 2,c,0.3,']));
});

it('a comparison compares neither a sum over some responses nor an expectation that only one output has', async () => {
  const cwd = temporaryDirectory();
  const env = await serve();
  const run = (lines: readonly number[], name: string, flags: readonly string[] = []) => {
    writeFileSync(join(cwd, 'rows.csv'), `prompt\n${lines.map((at) => `line ${at}\n`).join('')}`);
    return runBuilt(['chat', '--rows', 'rows.csv', '{{prompt}}', '-o', name, ...flags], { env, cwd });
  };
  await run([0, 1, 3], 'some.jsonl');
  await run([0, 1, 2], 'all.jsonl', ['--expect-text', 'a|b']);
  await run([0, 0, 0], 'cheap.jsonl', ['--expect-text', 'a|b']);
  const rowsOf = async (first: string, second: string): Promise<string[][]> => {
    const args = ['batch', 'report', first, second, '--compare', '--format', 'text', '--html', 'c.html'];
    const { stdout } = await runBuilt(args, { cwd });
    const page = readFileSync(join(cwd, 'c.html'), 'utf8').replace(/<[^>]*>/g, ' ');
    const all = stdout.split('\n').map((line) => line.trim().split(/ {2,}/));
    const rows = all.filter(([label]) => /^(Cost|Prompt tokens|Passed)/.test(label ?? ''));
    for (const cell of rows.flat()) expect(page).toContain(cell);
    return rows;
  };
  expect(await rowsOf('some.jsonl', 'all.jsonl')).toEqual([
    ['Prompt tokens', '18 (2 of 3 responses)', '27'],
    ['Cost', '0.3 (2 of 3 responses)', '0.6'],
    ['Passed --expect-text a|b', 'not checked', '66.6 %'],
  ]);
  expect(await rowsOf('all.jsonl', 'cheap.jsonl')).toEqual([
    ['Prompt tokens', '27', '27'],
    ['Cost', '0.6', '0.3', expect.stringMatching(/^-0\.3.*, better$/)],
    ['Passed --expect-text a|b', '66.6 %', '100 %', '+33.3 %, better'],
  ]);
});

it('the facts of a response that succeeded are under -v', async () => {
  const env = await serve();
  const { code, stderr } = await runBuilt(['chat', 'line 2', '-v', '--no-stdin'], { env });
  expect([code, stderr]).toEqual([0, expect.stringMatching(/^request id: r-3\ncost: 0\.3$/m)]);
});

it('a group of failures under status 200 names neither the status nor only what differs', async () => {
  const cwd = temporaryDirectory();
  const env = await serve();
  const args = ['chat', '--batch', '-', '-o', 'out.jsonl', '--expect-text', 'river', '--concurrency', '1'];
  const { code, stderr } = await runBuilt(args, { env, cwd, stdin: [0, 1].map(body).join('\n') });
  expect(code).toBe(10);
  expect(stderr).toContain('2 × expectation failed: --expect-text river: no match in "a", and others (lines 1-2)');
});
