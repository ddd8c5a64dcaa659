import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { formatBatchSummary, lostResultsFailure } from '../../src/batch/batch-summary.ts';
import { Failure } from '../../src/errors.ts';
import { createBatchReport } from '../../src/reports/batch/batch-report.ts';
import {
  addResult,
  createBatchCounts,
  createBatchStatistics,
  sortedCauses,
} from '../../src/reports/batch/batch-statistics.ts';
import { causeLines, formatShare, reportText } from '../../src/reports/batch/report-text.ts';
import { createDistribution, evenEdges, logEdges } from '../../src/reports/distribution.ts';
import { runBuilt } from '../support/built.ts';
import { answerJson, countingServer } from '../support/counting-server.ts';
import { cleanEnv } from '../support/process.ts';
import { svc, temporaryDirectory } from '../support/svc.ts';

const chat = (content: string) => `${JSON.stringify({ messages: [{ role: 'user', content }] })}\n`;

// The lines of text in each header cell of the page.
const HEADER_LINES = `[...document.querySelectorAll('section th')].map((cell) => {
  const range = document.createRange();
  range.selectNodeContents(cell);
  return range.getClientRects().length;
})`;

/** The output of 30 chats: every tenth is rejected, each with a text of its own. */
async function finishedBatch(more: readonly string[] = []) {
  const cwd = temporaryDirectory();
  const { url, counts } = await countingServer(
    (body) => JSON.parse(body).messages.at(-1).content,
    ({ key }, response) => {
      if (Number(key) % 10 === 0)
        return answerJson(response, { detail: `request 01a1fd65-c7c7-7d58-${key} has a <b>bad</b> "${key}"` }, 400);
      answerJson(response, {
        model: 'm',
        choices: [{ index: 0, message: { content: 'x' }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 10, completion_tokens: Number(key), total_tokens: 0 },
      });
    },
  );
  writeFileSync(join(cwd, 'in.jsonl'), Array.from({ length: 30 }, (_, at) => chat(`${at + 1}`)).join(''));
  const env = { SVC_TOKEN: 'tok-en-1', SVC_BASE_URL: url };
  const args = ['chat', '--batch', 'in.jsonl', '-o', 'out.jsonl', '--concurrency', '1', ...more];
  const result = await svc(args, { cwd, env });
  return { cwd, counts, result };
}

it('a share is rounded down, but for what binary numbers lose', () => {
  expect([0.6 - 0.4, 0.9999, 1].map(formatShare)).toEqual(['20 %', '99.9 %', '100 %']);
});

describe('a comparison', () => {
  const compare = async (cwd: string) => {
    const report = ['batch', 'report', 'a.jsonl', 'b.jsonl', '--compare'];
    const [text, json] = await Promise.all([
      runBuilt([...report, '--format', 'text'], { cwd }),
      runBuilt(report, { cwd }),
    ]);
    return { text: text.stdout, json: JSON.parse(json.stdout) };
  };

  it.each([
    [[], ['--expect-text', '[24]'], '--expect-text [24] only in b.jsonl'],
    [['--expect-text', '[24]'], [], '--expect-text [24] only in a.jsonl'],
    [['--expect-text', '[12]'], ['--expect-text', '[24]'], '[12] only in a.jsonl; --expect-text [24] only in b.jsonl'],
    [['--expect-text', '[24]'], ['--expect-text', '[24]'], undefined],
  ])('of runs with the checks %j and %j counts no line as worse for a check of one', async (one, other, reason) => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'in.jsonl'), ['1', '2', '3', '4'].map(chat).join(''));
    for (const [file, flags] of [['a.jsonl', one] as const, ['b.jsonl', other] as const])
      await runBuilt(['chat', '--local', '--batch', 'in.jsonl', '-q', '-o', file, ...flags], { cwd });
    const { text, json } = await compare(cwd);
    expect(json.not_comparable).toMatchObject(
      reason ? [{ what: 'checks', reason: expect.stringContaining(reason) }] : [],
    );
    expect([json.worse.count, json.better.count]).toEqual([0, 0]);
    expect(/^Failed .*(better|worse)$/m.test(text)).toBe(false);
    expect(text.includes('the checks differ')).toBe(reason !== undefined);
  });

  it('of runs with other numbers of requests in flight does not judge their latency', async () => {
    const cwd = temporaryDirectory();
    const checkpoint = { input: '0123456789abcdef', run: 'r', operation: '/v1/chat/completions', shard: '1/1' };
    const line = (at: number, endMs: number) =>
      `${JSON.stringify({ line: at, exit_code: 0, applied: 'yes', attempts: 1, ms: 1000, ended_at: new Date(1e12 + endMs), checkpoint })}\n`;
    const output = (inFlight: number, factor: number) =>
      Array.from({ length: 24 }, (_, at) =>
        line(at + 1, factor * Math.floor(at / inFlight) * 1000).replace('"ms":1000', `"ms":${factor * 1000}`),
      ).join('');
    writeFileSync(join(cwd, 'a.jsonl'), output(2, 1));
    writeFileSync(join(cwd, 'b.jsonl'), output(8, 2));
    const { text, json } = await compare(cwd);
    const shown = 'latency depends on the requests in flight, 2 in a.jsonl and 8 in b.jsonl on average';
    expect(json.not_comparable).toMatchObject([{ what: 'latency', reason: expect.stringContaining(shown) }]);
    expect(text).toContain(shown);
    expect(text).toMatch(/^Latency p50 .*\+\S+ m?s$/m);
    writeFileSync(join(cwd, 'b.jsonl'), output(2, 2));
    const same = await compare(cwd);
    expect(same.json.not_comparable).toEqual([]);
    expect(same.text).toMatch(/^Latency p50 .*\+\S+ m?s, worse$/m);
  });

  it('judges the latency of lines without retries, and shows none if all had some', async () => {
    const cwd = temporaryDirectory();
    const checkpoint = { input: '0123456789abcdef', run: 'r', operation: '/v1/chat/completions', shard: '1/1' };
    const output = (retried: number): string =>
      Array.from({ length: 24 }, (_, at) => {
        const [attempts, ms] = at < retried ? [2, 1880] : [1, 1000];
        return `${JSON.stringify({ line: at + 1, exit_code: 0, applied: 'yes', attempts, ms, ended_at: new Date(1e12 + 1000 * at), checkpoint })}\n`;
      }).join('');
    writeFileSync(join(cwd, 'a.jsonl'), output(0));
    writeFileSync(join(cwd, 'b.jsonl'), output(6));
    const { text, json } = await compare(cwd);
    for (const percent of [50, 90, 99])
      expect(text).toMatch(new RegExp(`^Latency p${percent} without retries +1 s +1 s *$`, 'm'));
    expect(text).toMatch(/^Retries .*\+6, worse$/m);
    expect(json.reports[1]).toMatchObject({ latency_ms: { p90: 1880 }, unretried_latency_ms: { p90: 1000 } });
    writeFileSync(join(cwd, 'b.jsonl'), output(24));
    expect((await compare(cwd)).text).toMatch(/^Latency p50 without retries +1 s +not reported *$/m);
  });

  it('counts the lines that it leaves out, with the output that lacks them, and those without a response in both', async () => {
    const { cwd } = await finishedBatch();
    const all = readFileSync(join(cwd, 'out.jsonl'), 'utf8').trimEnd().split('\n');
    writeFileSync(join(cwd, 'less.jsonl'), `${all.slice(0, 28).join('\n')}\n`);
    const compare = async (first: string, second: string, ...flags: string[]) =>
      runBuilt(['batch', 'report', first, second, '--compare', ...flags], { cwd });
    const { stdout } = await compare('out.jsonl', 'less.jsonl', '--format', 'text');
    expect(stdout).toContain(
      '28 lines compared, of which 2 failed in both: 0 worse, 0 better, 0 different\n2 lines left out: no result in less.jsonl; the figures of out.jsonl count them\n',
    );
    const reversed = await compare('less.jsonl', 'out.jsonl', '--json');
    expect(JSON.parse(reversed.stdout)).toMatchObject({
      lines: { compared: 28, only_first: 0, only_second: 2 },
      failed_in_both: 2,
    });
    const same = await compare('out.jsonl', './less.jsonl', '--html', 'c.html');
    expect(same.code).toBe(0);
    expect(readFileSync(join(cwd, 'c.html'), 'utf8')).toContain('2 lines left out: no result in ./less.jsonl');
  });
});

it('a report says how many lines were not sent, and which were sent without a result', async () => {
  const { cwd } = await finishedBatch(['--max-failures', '0']);
  const report = async (...args: string[]) => {
    const text = (await svc(['batch', 'report', ...args, '--format', 'text'], { cwd })).stdout;
    const { stdout, stderr } = await svc(['batch', 'report', ...args, '--json', '--html', 'r.html'], { cwd });
    const { lines, unknown, unsent } = JSON.parse(stdout);
    const [, page] = /<dt>Not sent<\/dt><dd>(.*?)<\/dd>/.exec(readFileSync(join(cwd, 'r.html'), 'utf8')) ?? [];
    return { head: text.split('\n', 1)[0], lines, unknown, unsent, page, stderr };
  };
  const stopped = { lines: 10, unknown: 0, unsent: 20, page: '20' };
  const head = '10 lines: 9 done, 1 failed, 0 unknown; 20 not sent';
  expect(await report('out.jsonl')).toMatchObject({ ...stopped, head });
  const [journal = '', results = ''] = ['out.jsonl.journal', 'out.jsonl'].map((name) =>
    readFileSync(join(cwd, name), 'utf8'),
  );
  writeFileSync(join(cwd, 'out.jsonl'), results.replace(/.*\n/, ''));
  expect(await report('out.jsonl')).toMatchObject({ ...stopped, lines: 10, unknown: 1 });
  writeFileSync(join(cwd, 'out.jsonl'), results);
  // A run that was killed did not count its lines.
  writeFileSync(join(cwd, 'out.jsonl.journal'), journal.replace(/^\{"empty".*\n/m, ''));
  const killed = {
    unsent: null,
    page: 'not known',
    head: expect.stringMatching(/; the input was not read to its end$/),
  };
  expect(await report('out.jsonl')).toMatchObject(killed);
  writeFileSync(join(cwd, 'out.jsonl.journal'), `x\n${journal}`);
  expect(await report('out.jsonl')).toMatchObject({
    unsent: null,
    stderr: expect.stringContaining('not a valid record'),
  });
  rmSync(join(cwd, 'out.jsonl.journal'));
  expect(await report('out.jsonl')).toMatchObject({ unsent: null, head: '10 lines: 9 done, 1 failed, 0 unknown' });
});

describe('the summary of a batch', () => {
  it('groups failures by cause, sums tokens, and gives the latency', async () => {
    const { result } = await finishedBatch();
    expect(result.code).toBe(10);
    expect(result.stderr).toContain('30 lines: 27 done, 3 failed, 0 unknown, 0 not sent');
    expect(result.stderr).toMatch(/3 × HTTP 400: .* \(lines 10, 20, 30\)/);
    expect(result.stderr).toContain('tokens: 270 in, 405 out');
    expect(result.stderr).toMatch(/latency: p50 \d+ ms, p90 \d+ ms, p99 \d+ ms, max \d+ ms/);
  });
});

describe('a resumed batch', () => {
  it('reports the failures that it keeps, with their lines, and does not stop for them', async () => {
    const cwd = temporaryDirectory();
    const { url, counts } = await countingServer(
      (body) => JSON.parse(body).messages.at(-1).content,
      ({ key }, response) => {
        if (key === 'lost') return void response.destroy();
        const choice = { index: 0, message: { content: key }, finish_reason: 'stop' };
        answerJson(response, { model: 'm', choices: [choice], usage: { prompt_tokens: 1, completion_tokens: 1 } });
      },
    );
    writeFileSync(join(cwd, 'in.jsonl'), ['yes', 'no', 'lost'].map(chat).join(''));
    const run = async (junit: string, more: readonly string[] = []) => {
      const args = ['--batch', 'in.jsonl', '-o', 'out.jsonl', '--ordered', '--expect-text', 'yes', '--junit', junit];
      const env = { SVC_TOKEN: 'tok-en-1', SVC_BASE_URL: url };
      const { code, stderr } = await svc(['chat', ...args, ...more], { cwd, env });
      const xml = readFileSync(join(cwd, junit), 'utf8');
      return {
        code,
        causes: stderr.split('\n').filter((line) => line.includes(' × ')),
        counts: stderr.match(/\d+ lines?: .* not sent/)?.[0],
        cases: xml.match(/<(testcase .*? name="[^"]*"|failure .*?|error .*?)(?=\/?>| time=)/g),
      };
    };
    const first = await run('first.xml');
    expect(first).toMatchObject({ code: 10, counts: '3 lines: 1 done, 1 failed, 1 unknown, 0 not sent' });
    expect(first.causes).toHaveLength(2);
    expect(first.cases).toMatchObject(
      [/line 1/, /line 2/, /<failure type="safety_check"/, /line 3/, /<error type="unknown"/].map((text) =>
        expect.stringMatching(text),
      ),
    );
    expect(await run('kept.xml', ['--resume'])).toEqual(first);
    writeFileSync(join(cwd, 'in.jsonl'), chat('yes!'), { flag: 'a' });
    const appended = await run('appended.xml', ['--resume', '--max-failures', '0']);
    expect(appended).toMatchObject({ code: 10, counts: '4 lines: 2 done, 1 failed, 1 unknown, 0 not sent' });
    expect(Object.fromEntries(counts)).toEqual({ yes: 1, no: 1, lost: 1, 'yes!': 1 });
  });
});

describe('the cause of failures', () => {
  const facts = {
    status: 'failed',
    httpStatus: 400,
    attempts: 1,
    milliseconds: 1,
    response: undefined,
    received: {},
    endedAtMs: undefined,
    heldBy: undefined,
  } as const;
  const addFailures = (messages: readonly string[]) => {
    const statistics = createBatchStatistics();
    for (const [at, message] of messages.entries()) addResult(statistics, { ...facts, line: at + 1, message });
    return sortedCauses(statistics).map(({ cause, count }) => [cause, count]);
  };
  const rejected = (id: string) => `http://127.0.0.1:80/v1 returned 400 Bad Request: no "${id}"`;

  it.each([
    ['equal messages', [rejected('a'), rejected('a')], [`HTTP 400: ${rejected('a')}`, 2]],
    [
      'different ones',
      [rejected('a'), rejected('b'), rejected('a')],
      ['HTTP 400: http://127.0.0.1:80/v1 returned 400 Bad Request: no "…"', 3],
    ],
    [
      'ones that differ in everything',
      ['a', 'b', 'c'].map(
        (id) => `http://${id}.test rejected "${id}" of ${id}1-234567 after ${id.length + id.charCodeAt(0)} s`,
      ),
      ['HTTP 400: the service rejected "…" of … after # s', 3],
    ],
    [
      'ones with a profile',
      [1, 2].map((id) => `rejected the token (profile "work"): 401 Unauthorized, request ${id}`),
      ['HTTP 400: rejected the token (profile "work"): 401 Unauthorized, request #', 2],
    ],
    [
      'ones whose ends differ',
      ['1 2', '3'].map((end) => `${'x'.repeat(170)} ${end}`),
      [`HTTP 400: ${'x'.repeat(160)}…`, 2],
    ],
    ['a long one', ['1'.repeat(200), '1'.repeat(200)], [`HTTP 400: ${'1'.repeat(160)}…`, 2]],
  ])('of %s', (_, messages, cause) => {
    expect(addFailures(messages)).toEqual([cause]);
  });

  it('names the ten smallest lines in order, whatever order they end in', () => {
    const statistics = createBatchStatistics();
    for (const line of [9, 30, 3, 12, 1, 7, 5, 11, 2, 20, 8, 4, 40])
      addResult(statistics, { ...facts, line, message: 'x' });
    expect(sortedCauses(statistics)).toMatchObject([{ count: 13, lines: [1, 2, 3, 4, 5, 7, 8, 9, 11, 12] }]);
  });

  it('is not reported beyond fifty causes', () => {
    const words = Array.from({ length: 52 }, (_, at) => 'x'.repeat(at + 1));
    expect(addFailures([...words, ...words]).slice(0, 2)).toEqual([
      ['other causes', 4],
      ['HTTP 400: x', 2],
    ]);
  });
});

it.each([
  [1, ['1 line: 0 done, 1 failed, 0 unknown, 1 retry', '1 line: 1 done', '1 line was sent, and 1 result was lost']],
  [
    2,
    [
      '2 lines: 0 done, 2 failed, 0 unknown, 2 retries',
      '2 lines: 2 done',
      '2 lines were sent, and 2 results were lost',
    ],
  ],
])('nouns agree with a count of %i', (count, texts) => {
  const report = createBatchReport('a');
  const { statistics } = report;
  const facts = {
    ...{ status: 'failed' as const, httpStatus: 400, milliseconds: 1, response: undefined, received: {} },
    ...{ endedAtMs: undefined, heldBy: undefined },
  } as const;
  for (let line = 1; line <= count; line += 1) addResult(statistics, { ...facts, line, message: 'x', attempts: 2 });
  const tally = {
    ...createBatchCounts(),
    byStatus: { done: count, failed: 0, unknown: 0, unsent: 0 },
    sentLines: count,
    lostResults: count,
  };
  const lost = lostResultsFailure(new Failure('local_file', 'the disk is full'), tally, true).message;
  const found = [reportText(report, 80), formatBatchSummary(tally, 0), lost];
  for (const [at, text] of texts.entries()) expect(found[at]).toContain(text);
  expect(formatBatchSummary({ ...tally, retries: count }, 0)).toContain(count === 1 ? ', 1 retry (' : ', 2 retries (');
  const causes = createBatchStatistics();
  for (let line = 0; line < 5 + count; line += 1)
    addResult(causes, { ...facts, line, message: 'x'.repeat(line + 1), attempts: 1 });
  expect(causeLines(causes)).toContain(`and ${count} more ${count === 1 ? 'cause' : 'causes'}`);
});

it('a full disk before the first request leaves results of earlier runs out of its counts', () => {
  const tally = { ...createBatchCounts(), byStatus: { done: 9, failed: 0, unknown: 0, unsent: 3 } };
  const failure = lostResultsFailure(new Failure('local_file', 'the disk is full'), tally, true);
  expect([failure.message, failure.facts.hint]).toEqual([
    'the disk is full; nothing was sent',
    'fix the cause, then continue with --resume',
  ]);
});

describe('--max-failures', () => {
  it.each([
    ['1', 20, '2 lines failed (--max-failures)'],
    ['0', 10, '1 line failed (--max-failures)'],
    ['9%', 20, '2 lines failed (--max-failures)'],
  ])('%s stops taking lines', async (limit, line, message) => {
    const { result, counts } = await finishedBatch(['--max-failures', limit]);
    expect(result.code).toBe(10);
    expect(result.stderr).toContain(message);
    expect(counts.has(`${line}`)).toBe(true);
    expect(counts.size).toBe(line);
  });

  it.each([
    ['a failure', ['--fail-fast'], 10],
    ['a failure, in order', ['--fail-fast', '--ordered'], 10],
    ['an unexpected response', ['--fail-fast', '--expect-text', 'y'], 1],
  ])('--fail-fast sends nothing after %s', async (_, flags, line) => {
    const { result, counts } = await finishedBatch(flags);
    expect(result.code).toBe(10);
    expect(counts.size, result.stderr).toBe(line);
  });

  it('10% allows three of thirty to fail, and invalid limits are rejected', async () => {
    expect((await finishedBatch(['--max-failures', '10%'])).counts.size).toBe(30);
    for (const limit of ['x', '-1', '101%', '1.5'])
      expect((await finishedBatch(['--max-failures', limit])).result.code, limit).toBe(2);
  });
});

describe('svc batch report', () => {
  it('prints the figures as JSON when piped, and histograms on a terminal', async () => {
    const { cwd } = await finishedBatch();
    const piped = await svc(['batch', 'report', 'out.jsonl'], { cwd });
    expect(piped.code, piped.stderr).toBe(0);
    expect(JSON.parse(piped.stdout)).toMatchObject({
      lines: 30,
      done: 27,
      failed: 3,
      unknown: 0,
      failures: [{ count: 3, first_lines: [10, 20, 30] }],
      tokens: { prompt: 270, completion: 405 },
    });
    const { stdout } = await svc(['batch', 'report', 'out.jsonl'], { cwd, terminal: true });
    expect(stdout).toContain('30 lines: 27 done, 3 failed, 0 unknown');
    expect(stdout).toMatch(/Latency\n(\s+\d+( to \d+)? ms +\d+ ?█*\n)+/);
    expect(stdout).toMatch(/Completion tokens per line\n(\s+\d+( to \d+)? +\d+ ?█*\n)+/);
    expect(stdout, 'a bar of one value names it once').not.toMatch(/^\s+(\d+) to \1 /m);
  });

  it('counts each line once, over several files, and refuses other files', async () => {
    const [one, two] = [await finishedBatch(), await finishedBatch()];
    writeFileSync(join(one.cwd, 'two.jsonl'), readFileSync(join(two.cwd, 'out.jsonl')));
    const report = await svc(['batch', 'report', 'out.jsonl', 'two.jsonl'], { cwd: one.cwd });
    expect(JSON.parse(report.stdout)).toMatchObject({ lines: 60, done: 54 });
    const twice = await svc(['batch', 'report', 'out.jsonl', './out.jsonl'], { cwd: one.cwd });
    expect(JSON.parse(twice.stdout)).toMatchObject({ lines: 30, done: 27 });
    expect((await svc(['batch', 'report', 'in.jsonl'], { cwd: one.cwd })).code).toBe(12);
    expect((await svc(['batch', 'report', 'none.jsonl'], { cwd: one.cwd })).code).toBe(12);
    expect((await svc(['batch', 'report'], { cwd: one.cwd })).code).toBe(2);
    const stdout = await svc(['batch', 'report', 'out.jsonl', '--html', '-'], { cwd: one.cwd });
    expect([stdout.code, existsSync(join(one.cwd, '-'))]).toEqual([2, false]);
    expect(stdout.stderr).toBe('svc: --html writes a file, not stdout\n  name a file, such as report.html\n');
  });

  it('shows prompts of the input that was sent, and of no other one', async () => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'in.jsonl'), ['river', 'lake'].map(chat).join(''));
    writeFileSync(join(cwd, 'rows.csv'), 'text\nriver\nlake\n');
    writeFileSync(join(cwd, 'sea.csv'), 'text\nsea\n');
    writeFileSync(join(cwd, 'other.jsonl'), chat('sea'));
    writeFileSync(join(cwd, 'empty.jsonl'), '');
    await runBuilt(['chat', '--local', '--batch', 'in.jsonl', '-q', '-o', 'a.jsonl'], { cwd });
    await runBuilt(['chat', '--local', '--rows', 'rows.csv', '-q', '-o', 'b.jsonl', '{{text}}'], { cwd });
    const page = async (output: string, input: string) => {
      const { stderr } = await runBuilt(['batch', 'report', output, '--input', input, '--html', 'page.html'], { cwd });
      const text = readFileSync(join(cwd, 'page.html'), 'utf8');
      return [stderr.includes(`line 1 of ${input} is not the one that was sent`), /\bsea\b/.test(text)];
    };
    for (const [output, own, other] of [
      ['a.jsonl', 'in.jsonl', 'other.jsonl'],
      ['b.jsonl', 'rows.csv', 'sea.csv'],
      ['b.jsonl', 'rows.csv', 'other.jsonl'],
    ] as const) {
      expect(await page(output, own)).toEqual([false, false]);
      expect(await page(output, other)).toEqual([true, false]);
    }
    const empty = await runBuilt(['batch', 'report', 'empty.jsonl'], { cwd });
    expect(empty.stderr).toContain('warning: there are no results of a batch in empty.jsonl\n');
  });

  it.each([
    ['a torn line', '{"line":31,"id":nu', { lines: 30, done: 27, unsent: 0 }],
    ['zeros', '\0'.repeat(512), { lines: 30, done: 27, unsent: 0 }],
    // The lines that were refused may be sent again.
    ['zeros only', '\0'.repeat(512), { lines: 27, done: 0, unknown: 27, unsent: 3 }],
  ])('reads the output of a killed run that ends in %s', async (_, end, counts) => {
    const { cwd } = await finishedBatch();
    const path = join(cwd, 'out.jsonl');
    writeFileSync(path, `${counts.done === 0 ? '' : readFileSync(path, 'utf8')}${end}`);
    const { code, stdout, stderr } = await svc(['batch', 'report', 'out.jsonl'], { cwd });
    expect(code, stderr).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject(counts);
  });

  it('survives usage beyond all numbers, and escapes control and bidirectional characters in its page', async () => {
    const cwd = temporaryDirectory();
    const chats = ['1e999', '1e300', '-3', '7'].map((tokens, at) => ({ tokens, body: chat(`${at}`) }));
    const { url } = await countingServer(
      (body) => JSON.parse(body).messages.at(-1).content,
      ({ key }, response) => {
        const tokens = chats[Number(key)]?.tokens;
        const usage = `"usage":{"prompt_tokens":${tokens},"completion_tokens":${tokens}}`;
        if (tokens === undefined)
          return answerJson(response, { detail: 'bad \u202egnp.exe \u001b[31m\u0007 & <i>' }, 400);
        response.setHeader('Content-Type', 'application/json');
        response.end(`{"model":"m","choices":[{"index":0,"message":{"content":"x"},"finish_reason":"stop"}],${usage}}`);
      },
    );
    writeFileSync(join(cwd, 'in\u202e.jsonl'), [...chats.map(({ body }) => body), chat('9')].join(''));
    const env = cleanEnv(cwd, { SVC_TOKEN: 'tok-en-1', SVC_BASE_URL: url });
    const batch = await runBuilt(['chat', '--batch', 'in\u202e.jsonl', '-o', 'o\u202e.jsonl'], { cwd, env });
    expect(batch.code, batch.stderr).toBe(10);
    expect(batch.stderr).toContain('tokens: 7 in, 7 out');
    const { code, stdout, stderr } = await runBuilt(['batch', 'report', 'o\u202e.jsonl', '--html', 'r.html'], {
      cwd,
      env,
    });
    expect(code, stderr).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ lines: 5, done: 4, tokens: { prompt: 7, completion: 7 } });
    const html = readFileSync(join(cwd, 'r.html'), 'utf8');
    expect(html.replace(/sha256-[^']+/, '')).not.toMatch(/Infinity|NaN|e\+|[^\n\P{Cc}]|[\p{Cf}\p{Cs}]/u);
    expect(html).toContain('<p class="muted">o\\u202e.jsonl</p>');
    expect(html).toContain('bad \\u202egnp.exe \\x1b[31m\\x07 &#38; &#60;i&#62;');
  });

  it.skipIf(!existsSync('/usr/bin/chromium'))(
    'writes a page for phones and large screens, light and dark, without other files',
    async () => {
      const { cwd } = await finishedBatch();
      const { code, stderr } = await svc(['batch', 'report', 'out.jsonl', '--html', 'report.html'], { cwd });
      expect(code, stderr).toBe(0);
      const html = readFileSync(join(cwd, 'report.html'), 'utf8');
      expect(html).not.toContain('<b>bad');
      expect(statSync(join(cwd, 'report.html')).mode & 0o777).toBe(0o600);
      expect(html).not.toMatch(/(src|href)=/);
      const { chromium } = await import('playwright-core');
      const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
      onTestFinished(() => browser.close());
      const backgrounds = new Set<string>();
      for (const colorScheme of ['light', 'dark'] as const) {
        const page = await browser.newPage({ viewport: { width: 360, height: 740 }, colorScheme });
        const problems: string[] = [];
        page.on('console', (message) => problems.push(message.text()));
        page.on('request', (request) => request.url().startsWith('file:') || problems.push(request.url()));
        await page.goto(`file://${join(cwd, 'report.html')}`);
        expect(problems).toEqual([]);
        expect(await page.locator('svg[role=img]').count()).toBe(5);
        expect(await page.locator('dd').first().textContent()).toBe('30');
        expect(await page.locator('html').evaluate((root) => root.scrollWidth)).toBeLessThanOrEqual(360);
        expect(new Set((await page.evaluate(HEADER_LINES)) as number[])).toEqual(new Set([1]));
        await page.setViewportSize({ width: 320, height: 740 });
        await page.evaluate(
          "for (const figure of document.querySelectorAll('dd')) figure.textContent = '999,999,999,999'",
        );
        expect(await page.locator('html').evaluate((root) => root.scrollWidth)).toBeLessThanOrEqual(320);
        backgrounds.add(String(await page.evaluate('getComputedStyle(document.body).backgroundColor')));
      }
      expect(backgrounds.size).toBe(2);
    },
    60_000,
  );
});

it('svc batch report shows requests in flight and throughput over time, and what held them back', async () => {
  const cwd = temporaryDirectory();
  // From a second to another one, and what the request waited for.
  const requests = [
    [0, 4, undefined],
    [0, 8, 'refusals'],
    [4, 8, 'refusals'],
    [8, 12, 'tides'],
  ] as const;
  const start = Date.UTC(2026, 0, 31);
  const lines = requests.map(([from, to, held_by], at) => {
    const head = { line: at + 1, id: null, status: 200, exit_code: 0, applied: 'yes', response: { id: 'r' } };
    const ended_at = new Date(start + to * 1000).toISOString();
    const checkpoint = { input: '0'.repeat(16), run: 'r', operation: '/call/start', shard: '1/1' };
    return `${JSON.stringify({ ...head, attempts: 1, ms: (to - from) * 1000, ended_at, held_by, checkpoint })}\n`;
  });
  writeFileSync(join(cwd, 'out.jsonl'), lines.join(''));
  const { over_time, held_back } = JSON.parse((await svc(['batch', 'report', 'out.jsonl', '--json'], { cwd })).stdout);
  expect(held_back).toEqual({ refusals: 2, tides: 1 });
  const slices: { in_flight: number; lines_per_second: number }[] = over_time;
  expect(slices.map(({ in_flight }) => in_flight)).toEqual([2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 0]);
  expect(slices.map(({ lines_per_second }) => lines_per_second)).toEqual([0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 1]);
  expect(over_time[0]).toEqual({
    ...{ from: '2026-01-31T00:00:00.000Z', seconds: 1 },
    ...{ in_flight: 2, lines_per_second: 0, not_done_per_second: 0 },
  });
  const text = await svc(['batch', 'report', 'out.jsonl', '--format', 'text', '--html', 'page.html'], { cwd });
  expect(text.stdout).toMatch(/\nRequests in flight\n +0 to 1 s +2 █+\n/);
  expect(text.stdout).toMatch(/\nLines per second\n +0 to 1 s +0\n/);
  const page = readFileSync(join(cwd, 'page.html'), 'utf8');
  for (const part of ['<b>Requests in flight</b>', '>the service refuses more</td>', '>tides</td>', '>Held back by<'])
    expect(page).toContain(part);
});

describe('a distribution', () => {
  it.each<[string, readonly number[], readonly number[]]>([
    ['one value', Array(99).fill(1500), [1500, 1500, 1500, 1500, 1500]],
    ['few values', [5, 1000, 5, 1000], [5, 5, 1000, 1000, 1000]],
    ['10,000 values', Array.from({ length: 10_000 }, (_, at) => at + 1), [100, 5000, 9000, 9900, 10_000]],
  ])('gives exact percentiles of %s', (_, values, percentiles) => {
    const distribution = createDistribution(1, true);
    values.forEach(distribution.add);
    expect([1, 50, 90, 99, 100].map(distribution.percentile)).toEqual(percentiles);
    const [least, most] = [Math.min(...values), Math.max(...values)];
    for (const edges of [evenEdges(least, most, 12), logEdges(least, most, 5), logEdges(0, most, 10)]) {
      const bars = distribution.bars(edges);
      for (const { from, to, count } of bars)
        expect(count).toBe(values.filter((value) => value >= from && value < to).length);
      expect(bars.reduce((sum, { count }) => sum + count, 0)).toBe(values.length);
    }
  });

  it('gives percentiles of more values within 2 %, and bars that add up', () => {
    const distribution = createDistribution(1, true);
    for (let value = 1; value <= 100_000; value += 1) distribution.add(value);
    for (const percent of [1, 50, 90, 99, 100])
      expect(Math.abs(distribution.percentile(percent) / (percent * 1000) - 1), `${percent}`).toBeLessThan(0.02);
    for (const edges of [evenEdges(1, 100_000, 12), logEdges(1, 100_000, 10)])
      expect(distribution.bars(edges).reduce((sum, { count }) => sum + count, 0)).toBe(100_000);
    expect(createDistribution().percentile(50)).toBe(0);
  });
});
