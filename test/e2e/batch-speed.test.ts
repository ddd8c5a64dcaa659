import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { holds } from '../../src/reports/batch/line-facts.ts';
import { type Answering, answerJson, countingServer } from '../support/counting-server.ts';
import { cleanEnv, inShell, program, run } from '../support/process.ts';
import { seededRandom } from '../support/simulated-service.ts';
import { credentials, temporaryDirectory } from '../support/svc.ts';
import { calls, chats, jobs, type Kind } from './batch.ts';

interface Case {
  readonly kind?: Kind;
  readonly lines: number;
  readonly flags?: readonly string[];
  readonly answer: Answering;
  /** Runs svc with so many file descriptors. */
  readonly openFiles?: number;
}

async function runBatch({ kind = chats, lines, flags = [], answer, openFiles }: Case) {
  const cwd = temporaryDirectory();
  const text = Array.from({ length: lines }, (_, at) => `${JSON.stringify(kind.line(at + 1))}\n`).join('');
  writeFileSync(join(cwd, 'in.jsonl'), text);
  const { url, most } = await countingServer(kind.keyOf, answer);
  const env = { ...credentials, SVC_BASE_URL: url };
  const args = [...kind.command, '--batch', 'in.jsonl', '-o', 'out.jsonl', ...flags];
  const end = openFiles
    ? await inShell(`ulimit -n ${openFiles}; exec '${process.execPath}' '${program}' ${args.join(' ')}`, {
        cwd,
        env: cleanEnv(cwd, env),
      })
    : await run(args, { cwd, env });
  return { ...end, cwd, most: most() };
}

const later =
  (milliseconds: number, kind = chats, usage: object = {}): Answering =>
  (_, response) =>
    setTimeout(() => answerJson(response, Object.assign({}, kind.reply, usage)), milliseconds);

/** Ends so many requests at a time, in the order in which they came. */
function queue(milliseconds: number, capacity: number): Answering {
  const freeAt = Array<number>(capacity).fill(0);
  return (body, response, request) => {
    const now = performance.now();
    const first = freeAt.indexOf(Math.min(...freeAt));
    freeAt[first] = Math.max(now, freeAt[first] ?? 0) + milliseconds;
    later((freeAt[first] ?? 0) - now)(body, response, request);
  };
}

/** Refuses what exceeds its capacity with 429. */
function refuse(milliseconds: number, capacity: number, headers: object = {}): Answering {
  let busy = 0;
  return (body, response, request) => {
    if (busy >= capacity) return answerJson(response, { error: { message: 'slow down' } }, 429, headers);
    busy += 1;
    response.on('close', () => {
      busy -= 1;
    });
    later(milliseconds)(body, response, request);
  };
}

/** Refuses this share of requests with 429, by their number, however few are in flight. */
function refuseSometimes(milliseconds: number, share: number) {
  const random = seededRandom(7);
  let [inFlight, requests, sum] = [0, 0, 0];
  const answer: Answering = (_, response) => {
    inFlight += 1;
    requests += 1;
    sum += inFlight;
    response.on('close', () => {
      inFlight -= 1;
    });
    const isRefused = random() < share;
    setTimeout(() => {
      if (isRefused) answerJson(response, { error: { message: 'slow down' } }, 429);
      else answerJson(response, chats.reply);
    }, milliseconds);
  };
  return { answer, meanInFlight: () => sum / requests };
}

/** Answers the first line after so many others. */
function slowFirst(others: number): Answering {
  let seen = 0;
  let answerFirst = (): void => {};
  return ({ key }, response) => {
    if (key === 'p1') answerFirst = () => answerJson(response, chats.reply);
    else answerJson(response, chats.reply);
    if (key !== 'p1' && ++seen === others) answerFirst();
  };
}

const usage = { usage: { prompt_tokens: 6, completion_tokens: 4 } };
const large = { ...{ choices: [{ index: 0, message: { content: 'x'.repeat(3_000_000) }, finish_reason: 'stop' }] } };

const cases: readonly [keyof typeof holds, Case][] = [
  ['concurrency', { lines: 60, flags: ['--concurrency', '4'], answer: later(10) }],
  ['paid', { lines: 900, answer: later(300) }],
  ['jobs', { kind: jobs, lines: 30, answer: later(20, jobs) }],
  ['failure_flags', { lines: 80, flags: ['--max-failures', '3'], answer: later(15) }],
  ['open_files', { kind: calls, lines: 400, answer: later(60, calls), openFiles: 60 }],
  ['refusals', { lines: 300, answer: refuse(40, 5) }],
  [
    'wait',
    {
      lines: 300,
      answer: ({ count, key, text }, response, request) =>
        count === 1 && key === 'p9'
          ? answerJson(response, {}, 429, { 'Retry-After': '1' })
          : later(10)({ count, key, text }, response, request),
    },
  ],
  ['latency', { lines: 1600, answer: queue(60, 12) }],
  ['memory', { lines: 24, answer: later(20, chats, large) }],
  ['order', { lines: 80, flags: ['--ordered', '--concurrency', '2'], answer: slowFirst(31) }],
  ['rate', { lines: 40, flags: ['--rate', '50/s'], answer: later(5) }],
  ['token_rate', { lines: 40, flags: ['--token-rate', '500/s'], answer: later(5, chats, usage) }],
  [
    'budget',
    { lines: 60, flags: ['--max-total-tokens', '605', '--concurrency', '32'], answer: later(30, chats, usage) },
  ],
  [
    'outage',
    {
      lines: 60,
      flags: ['--retries', '0', '--concurrency', '2'],
      answer: ({ key }, response) => answerJson(response, chats.reply, Number(key.slice(1)) <= 22 ? 500 : 200),
    },
  ],
];

// Before, 2.5 of 8 requests were in flight.
it('rate limits that come at any load do not slow down a batch for long, and are said once', async () => {
  const { answer, meanInFlight } = refuseSometimes(100, 0.15);
  const { stderr, most, code } = await runBatch({
    lines: 500,
    flags: ['--concurrency', '8', '--retries', '6'],
    answer,
  });
  expect(code, stderr).toBe(0);
  expect(stderr.match(/the service refuses \d+ % of requests, however few are in flight/g)).toHaveLength(1);
  expect(stderr).toContain('the batch returns to 8 requests in flight, and retries them');
  expect(meanInFlight()).toBeGreaterThan(3.5);
  expect(most).toBe(8);
});

it('a service that refuses what is too much is no such service', async () => {
  const { stderr } = await runBatch({ lines: 300, flags: ['--concurrency', '8'], answer: refuse(20, 4) });
  expect(stderr).not.toContain('however few');
});

describe('what held a batch back is in its results and its summary', () => {
  it.each(cases)('%s', async (name, batch) => {
    const { cwd, stderr } = await runBatch(batch);
    const results = readFileSync(join(cwd, 'out.jsonl'), 'utf8').split('\n');
    const held = results.filter((line) => line.includes(`"held_by":"${name}"`));
    expect(held.length, stderr).toBeGreaterThan(0);
    expect(stderr).toContain(`${holds[name]} (${held.length.toLocaleString('en')})`);
  });

  it('every name is tested', () => {
    const names = cases.map(([name]) => name);
    expect([...names, 'safe'].sort()).toEqual(Object.keys(holds).sort());
  });
});
