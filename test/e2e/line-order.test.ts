import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import type { HttpRequest, HttpResponse, Send } from '../../src/http/message.ts';
import { runBuilt } from '../support/built.ts';
import { type Answering, answerJson, countingServer } from '../support/counting-server.ts';
import { noStrace, runWithFault } from '../support/strace.ts';
import { credentials, svc, temporaryDirectory } from '../support/svc.ts';
import { calls, chats, feedback, jobs, type Kind } from './batch.ts';

// The order of the steps of a line (docs/internals/decisions/0050), as a service and the files of a batch show it.

const linesOf = (path: string): string[] => readFileSync(path, 'utf8').trimEnd().split('\n');

function writeInput(cwd: string, kind: Kind, count: number): void {
  const lines = Array.from({ length: count }, (_, at) => `${JSON.stringify(kind.line(at + 1))}\n`);
  writeFileSync(join(cwd, 'in.jsonl'), lines.join(''));
}

/** Runs a batch of the built program. `answer` also gets the records of the journal when the request arrives. */
async function runBatchOf(
  kind: Kind,
  count: number,
  flags: readonly string[],
  answer: (records: readonly string[], ...given: Parameters<Answering>) => void,
) {
  const cwd = temporaryDirectory();
  writeInput(cwd, kind, count);
  const journal = join(cwd, 'out.jsonl.journal');
  const { url, counts } = await countingServer(kind.keyOf, (...given) => answer(linesOf(journal), ...given));
  const args = [...kind.command, '--batch', 'in.jsonl', '-o', 'out.jsonl', ...flags];
  const end = await runBuilt(args, { cwd, env: { ...credentials, SVC_BASE_URL: url } });
  return { ...end, counts, records: linesOf(journal) };
}

describe('a line is recorded before it is sent', () => {
  it.each(Object.entries({ chats, calls, feedback, jobs }))('%s', async (_, kind) => {
    const unrecorded: string[] = [];
    const { code, stderr, counts } = await runBatchOf(kind, 12, [], (records, body, response) => {
      const [, line] = /"p(\d+)"|"number":(\d+)/.exec(body.text)?.filter(Boolean) ?? [];
      const last = records.filter((record) => record.includes(`":${line},"input"`)).at(-1);
      if (!last?.startsWith('{"sending"')) unrecorded.push(body.text);
      // A retry finds its record as well.
      if (line === '3' && body.count === 1) answerJson(response, {}, 429, { 'Retry-After': '0' });
      else answerJson(response, kind.reply);
    });
    expect(code, stderr).toBe(0);
    expect([...counts.values()].sort()).toEqual([...Array(11).fill(1), 2]);
    expect(unrecorded).toEqual([]);
  });
});

it('a line that waited for the service is recorded again before it is sent', async () => {
  const kept: string[][] = [];
  const { code, stderr, records } = await runBatchOf(chats, 1, [], (before, { count }, response) => {
    kept.push(before.slice(1).map((record) => /^\{"(\w+)"/.exec(record)?.[1] ?? record));
    if (count === 1) answerJson(response, {}, 503, { 'x-envoy-overloaded': 'true' });
    else answerJson(response, chats.reply);
  });
  expect(code, stderr).toBe(0);
  // A kill during the wait leaves nothing unknown, and one during the retry leaves the line unknown.
  expect(kept).toEqual([['sending'], ['sending', 'withdrawn', 'sending']]);
  expect(records.slice(4)).toEqual(['{"empty":0,"lines":1}']);
});

describe.skipIf(noStrace() !== undefined)('a record that is not durable', () => {
  // The record of the run is durable first, then each record of its line.
  it.each([
    ['of a chat to send: it is not sent', chats, 2, 0],
    ['of a call to send: it is not sent', calls, 2, 0],
    ['that withdraws a chat: its result is not stored', chats, 3, 1],
  ] as const)('%s', async (_, kind, count, requests) => {
    const cwd = temporaryDirectory();
    writeInput(cwd, kind, 1);
    const { url, counts } = await countingServer(kind.keyOf, (_body, response) => answerJson(response, {}, 400));
    const call = { name: 'fdatasync', count, paths: [join(cwd, 'out.jsonl.journal')] };
    const args = [...kind.command, '--batch', 'in.jsonl', '-o', 'out.jsonl'];
    const env = { ...credentials, SVC_BASE_URL: url };
    // Late, so that a request which does not wait for its record arrives.
    const { code, stderr } = await runWithFault(call, 'error=EIO:delay_enter=300000', args, cwd, env);
    expect(code, stderr).toBe(12);
    expect(counts.size).toBe(requests);
    expect(readFileSync(join(cwd, 'out.jsonl'), 'utf8')).toBe('');
  });
});

it('a line that was not applied is withdrawn before its result is stored and the next line is sent', async () => {
  const { code, stderr, records } = await runBatchOf(chats, 2, ['--concurrency', '1'], (_, { key }, response) =>
    key === 'p1' ? answerJson(response, {}, 400) : answerJson(response, chats.reply),
  );
  expect(code, stderr).toBe(10);
  expect(records.slice(1).map((record) => /^\{"\w+":\d/.exec(record)?.[0])).toEqual([
    '{"sending":1',
    '{"withdrawn":1',
    '{"sending":2',
    '{"empty":0',
  ]);
});

it.each([
  [['--fail-fast'], 400],
  [['--max-failures', '1'], 500],
])('no request is sent until the outcome of the line before it is settled: %j', async (flags, status) => {
  const all = [...flags, '--concurrency', '1', '--retries', '0'];
  const { code, stderr, counts } = await runBatchOf(chats, 9, all, (_, _body, response) =>
    answerJson(response, {}, status),
  );
  expect(code, stderr).toBe(10);
  expect(counts.size).toBe(flags.length);
});

/** A service in this process, which keeps what to call when stray data arrives on the connection of a line. */
function strayService(onRequest: (line: number) => Promise<unknown>) {
  const strays = new Map<number, () => void>();
  const body = Buffer.from(JSON.stringify({ id: 'other', trace_id: 'other' }));
  const send: Send = async (request: HttpRequest): Promise<HttpResponse> => {
    const line = Number(/"p(\d+)"/.exec(String(request.body))?.[1]);
    const strayData = new Promise<void>((settle) => {
      strays.set(line, settle);
    });
    await onRequest(line);
    const chunks = async function* () {
      yield body;
    };
    const headers = [['Content-Type', 'application/json']] as const;
    return { status: 200, statusText: 'OK', headers, body: chunks(), strayData };
  };
  return { send, strays };
}

interface Entry {
  readonly line: number;
  readonly revision?: number;
  readonly exit_code: number;
}

const args = ['call', 'start', '--base-url', 'http://127.0.0.1', '--batch', 'in.jsonl'];

describe('a line is revised', () => {
  it('after its result is stored, also when that waits for its turn', async () => {
    const cwd = temporaryDirectory();
    writeInput(cwd, calls, 3);
    let onThirdLine = (): void => {};
    const thirdLine = new Promise<void>((resolve) => {
      onThirdLine = resolve;
    });
    const { send, strays } = strayService(async (line) => {
      if (line === 1) await thirdLine;
      if (line !== 3) return;
      strays.get(2)?.();
      // The revision could be written now, and the result cannot.
      await new Promise((resolve) => setImmediate(resolve));
      onThirdLine();
    });
    const { code, stdout, stderr } = await svc([...args, '--ordered', '--concurrency', '2'], {
      cwd,
      env: credentials,
      send,
    });
    expect(code, stderr).toBe(10);
    const entries: Entry[] = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    const second = entries.filter(({ line }) => line === 2);
    expect(second.map(({ revision = 0, exit_code }) => [revision, exit_code])).toEqual([
      [0, 0],
      [1, 8],
    ]);
  });

  it('never after it counts: the summary has what the output has', async () => {
    const cwd = temporaryDirectory();
    writeInput(cwd, calls, 9);
    const { send, strays } = strayService(async () => {});
    let text = '';
    const stderr = new Writable({
      write: (chunk, _, done) => {
        text += chunk;
        // After the output is complete, and before the summary is made.
        if (text.includes('the responses of 9 lines have warnings')) for (const onStray of strays.values()) onStray();
        done();
      },
    });
    const { code } = await svc([...args, '-o', 'out.jsonl'], { cwd, env: credentials, send, runtime: { stderr } });
    expect(code, text).toBe(0);
    expect(strays.size).toBe(9);
    expect(text).toContain('9 lines: 9 done, 0 failed, 0 unknown');
    expect(linesOf(join(cwd, 'out.jsonl'))).toHaveLength(9);
  });
});
