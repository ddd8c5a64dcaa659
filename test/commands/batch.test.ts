import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { after } from '../support/clock.ts';
import { type Answering, answerJson, countingServer } from '../support/counting-server.ts';
import { credentials, type Result, type Setting, svc, temporaryDirectory } from '../support/svc.ts';

const completion = (content: string) => ({
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
  usage: {},
});

/** The content of the last message of a chat. */
const promptOf = (body: string): string => JSON.parse(body).messages.at(-1).content;
const echo: Answering = ({ key }, response) => answerJson(response, completion(key));

interface Scene {
  readonly cwd: string;
  readonly env: Record<string, string>;
  readonly counts: ReadonlyMap<string, number>;
  readonly most: () => number;
  readonly bodies: string[];
  readonly run: (args: readonly string[], setting?: Setting) => Promise<Result>;
  readonly lines: (file?: string) => Line[];
}

interface Line {
  readonly line: number;
  readonly id: string | null;
  readonly status: number | null;
  readonly exit_code: number;
  readonly applied: string;
  readonly response?: { readonly choices: { readonly message: { readonly content: string } }[] };
  readonly error?: { readonly message: string; readonly issues: { readonly at: string; readonly message: string }[] };
  readonly attempts: number;
}

/** A directory with `in.jsonl`, and a server that responds to chats; requests differ by their prompts. */
async function scene(input: readonly unknown[], answer: Answering = echo): Promise<Scene> {
  const cwd = temporaryDirectory();
  const bodies: string[] = [];
  const server = await countingServer(promptOf, (body, response, request) => {
    bodies.push(body.text);
    answer(body, response, request);
  });
  const env = { ...credentials, SVC_BASE_URL: server.url };
  const text = input.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n');
  writeFileSync(join(cwd, 'in.jsonl'), `${text}\n`);
  return {
    cwd,
    env,
    counts: server.counts,
    most: server.most,
    bodies,
    run: (args, setting) => svc(['chat', '--batch', 'in.jsonl', ...args], { cwd, env, ...setting }),
    lines: (file = 'out.jsonl') => entries(readFileSync(join(cwd, file), 'utf8')),
  };
}

function entries(text: string): Line[] {
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

const chat = (content: string, more = {}) => ({ messages: [{ role: 'user', content }], ...more });
const many = (count: number): unknown[] => Array.from({ length: count }, (_, at) => chat(`p${at + 1}`));
const byLine = (left: Line, right: Line): number => left.line - right.line;

describe('a batch', () => {
  it('keeps the results of lines that were paid for, when what a later run adds is invalid', async () => {
    const { cwd, counts, run } = await scene(many(2));
    await run(['-o', 'out.jsonl']);
    writeFileSync(
      join(cwd, 'in.jsonl'),
      `${[...many(2), { messages: 3 }].map((line) => JSON.stringify(line)).join('\n')}\n`,
    );
    const { code, stderr } = await run(['-o', 'out.jsonl', '--resume']);
    expect(code).toBe(10);
    expect(stderr).toContain(
      'correct the invalid lines (--dry-run lists them), then run it again with --resume --accept-changes',
    );
    writeFileSync(
      join(cwd, 'in.jsonl'),
      `${many(3)
        .map((line) => JSON.stringify(line))
        .join('\n')}\n`,
    );
    expect(await run(['-o', 'out.jsonl', '--resume', '--accept-changes'])).toMatchObject({ code: 0 });
    expect([...counts.values()]).toEqual([1, 1, 1]);
  });

  it('has one result per line, whatever happens to the others', async () => {
    const input = [...many(20), '', chat('p22', { n: 'x' }), '{"messages":', chat('p24')];
    const { run, lines, counts, cwd } = await scene(input, ({ key }, response) =>
      key === 'p7' ? answerJson(response, { error: { message: 'no p7' } }, 400) : answerJson(response, completion(key)),
    );
    const { code, stdout, stderr } = await run(['-o', 'out.jsonl']);
    expect({ code, stdout }).toEqual({ code: 10, stdout: '' });
    expect(stderr).toContain('23 lines: 20 done, 3 failed, 0 unknown, 0 not sent, 1 empty');
    const found = lines().sort(byLine);
    expect(found.map(({ line }) => line)).toEqual([...Array(20).keys()].map((at) => at + 1).concat(22, 23, 24));
    for (const { line, exit_code, response, error } of found) {
      if (line === 7) expect({ exit_code, message: error?.message }).toMatchObject({ exit_code: 5 });
      else if (line === 22) expect(error?.issues[0]).toMatchObject({ at: 'in.jsonl:22:51' });
      else if (line === 23) expect(error?.issues[0]?.at).toBe('in.jsonl:23:13');
      else expect(response?.choices[0]?.message.content).toBe(`p${line}`);
    }
    expect([...counts.values()].every((count) => count === 1)).toBe(true);
    // The record of what was sent stays beside the output; some 60 bytes per line.
    expect(statSync(join(cwd, 'out.jsonl.journal')).size).toBeLessThan(23 * 80 + 300);
    expect(existsSync(join(cwd, 'out.jsonl.lock'))).toBe(false);
  });

  it('can write to stdout, and read its lines from stdin', async () => {
    const { run } = await scene([]);
    const { code, stdout, stderr } = await run(['--batch', '-'], {
      stdin: many(5)
        .map((line) => JSON.stringify(line))
        .join('\n'),
    });
    expect(code).toBe(0);
    expect(
      entries(stdout)
        .sort(byLine)
        .map(({ response }) => response?.choices[0]?.message.content),
    ).toEqual(['p1', 'p2', 'p3', 'p4', 'p5']);
    expect(stderr).toContain('5 lines: 5 done');
  });

  it('takes fields that a line lacks from flags; the line wins', async () => {
    const { run, bodies } = await scene([
      chat('a'),
      chat('b', { model: 'own', seed: 7, stop: ['x'] }),
      {
        messages: [
          { role: 'system', content: 'mine' },
          { role: 'user', content: 'c' },
        ],
        user: null,
      },
    ]);
    await run([
      '-m',
      'usual',
      '--seed',
      '9223372036854775807',
      '-s',
      'ours',
      '--stop',
      'y',
      '--set',
      'svc_xargs.k=v',
      '--concurrency',
      '1',
      '-q',
    ]);
    expect(bodies).toEqual([
      '{"messages":[{"role":"system","content":"ours"},{"role":"user","content":"a"}],"model":"usual","seed":9223372036854775807,"stop":["y"],"svc_xargs":{"k":"v"}}',
      '{"messages":[{"role":"system","content":"ours"},{"role":"user","content":"b"}],"model":"own","seed":7,"stop":["x"],"svc_xargs":{"k":"v"}}',
      '{"messages":[{"role":"system","content":"mine"},{"role":"user","content":"c"}],"user":null,"model":"usual","seed":9223372036854775807,"stop":["y"],"svc_xargs":{"k":"v"}}',
    ]);
  });

  it('adds flags and settings in the order of the reference', async () => {
    const messages = '"messages":[{"role":"user","content":"a"}]';
    const { run, bodies, env } = await scene([`{"seed":1, ${messages}}`]);
    await run(['--temperature', '1', '-q'], { env: { ...env, SVC_MODEL: 'm' } });
    expect(bodies).toEqual([`{"seed":1, ${messages},"model":"m","temperature":1}`]);
  });

  it('sends a line byte for byte if nothing is added', async () => {
    const line = '{"messages" : [{"role":"user","content":"x"}], "seed":1e3,  "top_p": 1.0}';
    const { run, bodies } = await scene([line]);
    await run(['-q']);
    expect(bodies).toEqual([line]);
  });

  it("takes the lines of OpenAI's batches, and reports what does not fit", async () => {
    const url = '/v1/chat/completions';
    const { run, lines } = await scene([
      { custom_id: 'first', method: 'POST', url, body: chat('p1') },
      { custom_id: 'second', method: 'POST', url: '/v1/embeddings', body: { input: 'x' } },
      { custom_id: 'third', method: 'GET', url, body: chat('p3') },
      { custom_id: 'fourth', method: 'POST', url, body: chat('p4', { temperature: 'hot' }) },
    ]);
    expect((await run(['-o', 'out.jsonl'])).code).toBe(10);
    const found = lines().sort(byLine);
    expect(found.map(({ id, exit_code }) => [id, exit_code])).toEqual([
      ['first', 0],
      ['second', 3],
      ['third', 3],
      ['fourth', 3],
    ]);
    expect(found.slice(1).map(({ error }) => error?.issues[0])).toMatchObject([
      { at: 'in.jsonl:2:45', message: 'the url must be "/v1/chat/completions"' },
      { at: 'in.jsonl:3:31', message: 'the method must be "POST"' },
      { at: 'in.jsonl:4:134', message: 'must be a number or null, not "hot"' },
    ]);
  });

  it('uses custom_id as the id of the result, never sends it, and does not warn about it', async () => {
    const url = '/v1/chat/completions';
    const { run, lines, bodies, cwd } = await scene([
      { custom_id: 'a', ...chat('p1') },
      { ...chat('p2'), custom_id: 'b' },
      '{"model":"m", "custom_id" : 12345678901234567890, "messages":[{"role":"user","content":"p3"}],"n":"x"}',
      { custom_id: 7, method: 'POST', url, body: chat('p4') },
      { custom_id: 'a', method: 'POST', url, body: chat('p5') },
      { custom_id: null, ...chat('p6') },
    ]);
    const { stderr } = await run(['-o', 'out.jsonl', '--ordered', '--concurrency', '1']);
    const ids = readFileSync(join(cwd, 'out.jsonl'), 'utf8').matchAll(/^{"line":\d+,"id":([^,]*)/gm);
    expect(Array.from(ids, ([, id]) => id)).toEqual(['"a"', '"b"', '12345678901234567890', '7', '"a"', 'null']);
    expect(stderr).not.toMatch(/in.jsonl:[1-5] custom_id/);
    expect(stderr).toContain('lines share a custom_id, so the id of a result names several: "a" in lines 1, 5');
    for (const prompt of ['p1', 'p2']) expect(bodies).toContain(JSON.stringify(chat(prompt)));
    expect(lines()[2]?.error?.issues[0]).toMatchObject({ at: 'in.jsonl:3:99' });
  });

  it('merges streams', async () => {
    const { run, lines } = await scene(
      [chat('p1', { stream: true }), chat('p2', { stream: true })],
      ({ key }, response) => {
        response.writeHead(200, { 'Content-Type': 'text/event-stream' });
        for (const part of ['al', 'most'])
          response.write(
            `data: ${JSON.stringify({ model: 'm', choices: [{ index: 0, delta: { content: part } }] })}\n\n`,
          );
        if (key === 'p1')
          response.end('data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n');
        else response.write('\n', () => response.destroy());
      },
    );
    expect((await run(['-o', 'out.jsonl'])).code).toBe(10);
    const [whole, cut] = lines().sort(byLine);
    expect(whole).toMatchObject({
      exit_code: 0,
      response: { choices: [{ message: { content: 'almost' }, finish_reason: 'stop' }] },
    });
    expect(cut).toMatchObject({
      exit_code: 11,
      applied: 'yes',
      response: { choices: [{ message: { content: 'almost' } }] },
    });
  });

  it('never has more requests in flight than --concurrency says', async () => {
    const waiting: (() => void)[] = [];
    const { run, most } = await scene(many(30), ({ key }, response) => {
      waiting.push(() => answerJson(response, completion(key)));
      if (waiting.length === 3) for (const answer of waiting.splice(0)) answer();
    });
    expect((await run(['--concurrency', '3', '-q'])).code).toBe(0);
    expect(most()).toBe(3);
  });

  it('counts a stream as in flight until its end', async () => {
    const { run, most } = await scene(
      many(4).map((line) => ({ ...Object(line), stream: true })),
      (_, response) => {
        response.writeHead(200, { 'Content-Type': 'text/event-stream' });
        response.write(`data: ${JSON.stringify({ model: 'm', choices: [{ index: 0, delta: { content: 'x' } }] })}\n\n`);
        setTimeout(
          () => response.end('data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'),
          50,
        );
      },
    );
    expect((await run(['--concurrency', '1', '-q'])).code).toBe(0);
    expect(most()).toBe(1);
  });

  it('sends other lines while one waits for its retry, also with --ordered', async () => {
    const { run, lines } = await scene(many(6), ({ key, count }, response) =>
      key === 'p1' && count === 1
        ? answerJson(response, {}, 503, { 'Retry-After': '0' })
        : answerJson(response, completion(key)),
    );
    const { code, stderr } = await run(['-o', 'out.jsonl', '--ordered', '--concurrency', '1']);
    expect(code, stderr).toBe(0);
    expect(lines().map(({ line, attempts }) => [line, attempts])[0]).toEqual([1, 2]);
  });

  it('keeps the order of the lines with --ordered', async () => {
    const waiting: (() => void)[] = [];
    const { run, lines } = await scene(many(40), ({ key }, response) => {
      // The first of each eight gets its response last.
      waiting.push(() => answerJson(response, completion(key)));
      if (waiting.length === 8) for (const answer of waiting.splice(0).reverse()) answer();
    });
    expect((await run(['-o', 'out.jsonl', '--ordered', '-q'])).code).toBe(0);
    expect(lines().map(({ line }) => line)).toEqual(Array.from({ length: 40 }, (_, at) => at + 1));
  });

  it('takes no more lines after a failure with --fail-fast', async () => {
    const { run, lines, counts } = await scene(many(50), ({ key }, response) =>
      key === 'p3' ? answerJson(response, {}, 404) : answerJson(response, completion(key)),
    );
    const { code, stderr } = await run(['-o', 'out.jsonl', '--fail-fast', '--concurrency', '2']);
    expect(code).toBe(10);
    const [, done, failed, unsent] = /50 lines: (\d+) done, (\d+) failed, 0 unknown, (\d+) not sent/.exec(stderr) ?? [];
    expect(Number(done) + Number(failed) + Number(unsent)).toBe(50);
    expect(lines()).toHaveLength(Number(done) + Number(failed));
    expect(counts.size).toBe(Number(done) + Number(failed));
    expect(Number(unsent)).toBeGreaterThan(30);
    const resumed = await run(['-o', 'out.jsonl', '--resume']);
    expect(resumed.stderr).toContain('50 lines: 49 done, 1 failed, 0 unknown, 0 not sent');
    expect([...counts].filter(([, count]) => count > 1)).toEqual([['p3', 2]]);
  });

  it.each([
    ['that is not JSON', '{', []],
    ['that is invalid', {}, []],
    ['that is invalid, one at a time', {}, ['--concurrency', '1']],
    ['that is invalid, in order', {}, ['--ordered']],
  ])('sends no line after one %s, with --fail-fast', async (_, invalid, flags) => {
    const { run, counts } = await scene([invalid, ...many(20)]);
    const { code, stderr } = await run(['-o', 'out.jsonl', '--fail-fast', ...flags]);
    expect(code).toBe(10);
    expect(stderr).toContain('21 lines: 0 done, 1 failed, 0 unknown, 20 not sent');
    expect(counts.size).toBe(0);
  });

  it('slows down while the service is rate limited, and completes all lines', async () => {
    const { run, most } = await scene(many(60), ({ key, count }, response) => {
      if (Number(key.slice(1)) % 7 === 0 && count === 1) answerJson(response, {}, 429, { 'Retry-After': '0' });
      else answerJson(response, completion(key));
    });
    const { code, stderr } = await run(['-o', 'out.jsonl']);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(stderr).toMatch(/60 lines: 60 done, 0 failed, 0 unknown, 0 not sent, 8 retries/);
    expect(most()).toBeLessThanOrEqual(8);
  });

  it('retries each line of a long batch, however many were retried before', async () => {
    const { run } = await scene(many(200), ({ key, count }, response) =>
      count === 1 ? answerJson(response, {}, 429) : answerJson(response, completion(key)),
    );
    const { stderr } = await run(['-o', 'out.jsonl', '--concurrency', '50']);
    expect(stderr).toMatch(/200 lines: 200 done, 0 failed, 0 unknown, 0 not sent, 200 retries/);
  });

  it('takes no more lines when the service asks to wait long', async () => {
    const { run, counts } = await scene(many(50), ({ key }, response) =>
      key === 'p5' ? answerJson(response, {}, 429, { 'Retry-After': '3600' }) : answerJson(response, completion(key)),
    );
    const { code, stderr } = await run(['-o', 'out.jsonl', '--concurrency', '1']);
    expect(code).toBe(10);
    expect(stderr).toContain('the service asks to wait 3600 s');
    expect(counts.size).toBeLessThan(10);
  });

  it('prints only the first warnings', async () => {
    const { run } = await scene(Array.from({ length: 100 }, () => chat('x', { foo: 1 })));
    const { stderr } = await run(['-o', 'out.jsonl']);
    expect(stderr.match(/warning: in.jsonl:\d+:\d+ foo/g)).toHaveLength(20);
    expect(stderr).toContain('further warnings are not shown');
  });

  it.each([[[]], [['--resume']]])('does not write to a directory (%j)', async (flags) => {
    const { run } = await scene(many(1));
    const { code, stderr } = await run(['-o', '.', ...flags]);
    expect(code).toBe(12);
    expect(stderr).toBe('svc: cannot write .: it is a directory\n  name a file\n');
  });

  it('prints a warning about a flag once', async () => {
    const { run } = await scene([chat('p1'), chat('p2', { foo: 1 }), chat('p3')]);
    const { stderr } = await run(['-o', 'out.jsonl', '--set', 'bar=1']);
    expect(stderr.match(/warning: \S+ \w+/g)?.sort()).toEqual(['warning: --set bar', 'warning: in.jsonl:2:52 foo']);
  });

  it.each([
    ['\ufeff', '0 lines: 0 done, 0 failed, 0 unknown, 0 not sent, 1 empty', 0],
    [`\ufeff \r\n${JSON.stringify(chat('p2'))}`, '1 line: 1 done, 0 failed, 0 unknown, 0 not sent, 1 empty', 0],
  ])('takes a first line of a byte order mark as empty: %j', async (text, summary, exitCode) => {
    const { run } = await scene([]);
    const { code, stderr } = await run(['--batch', '-', '-o', 'out.jsonl'], { stdin: text });
    expect({ code, stderr }).toMatchObject({ code: exitCode });
    expect(stderr).toContain(summary);
  });

  it('redacts the secrets of a line in failures, which -q does not silence', async () => {
    const { run, lines } = await scene([chat('p1', { cache_salt: 'very-secret-salt' })], ({ text }, response) =>
      answerJson(response, { error: { message: `bad: ${text}` } }, 400),
    );
    const { stderr } = await run(['-o', 'out.jsonl', '-q']);
    expect(stderr).toMatch(/^1 × HTTP 400: .*bad: .*\[redacted\].* \(line 1\)\nsvc: 1 line: 0 done, 1 failed/);
    expect(JSON.stringify(lines()) + stderr).not.toContain('very-secret-salt');
    expect(lines()[0]?.error?.message).toContain('[redacted]');
  });
});

describe('calls of a batch', () => {
  it('get ids derived from the run and the line, so that a retried line is the same call', async () => {
    const cwd = temporaryDirectory();
    const seen: { id: string; trace_id: string; started_at: string }[] = [];
    let isBroken = true;
    const { url } = await countingServer(
      (body) => JSON.parse(body).start.op_name,
      ({ text, key }, response) => {
        seen.push(JSON.parse(text).start);
        if (isBroken && key === 'b') response.destroy();
        else answerJson(response, { id: 'i', trace_id: 't' });
      },
    );
    const env = { ...credentials, SVC_BASE_URL: url, SVC_RETRIES: '0', SVC_PROJECT_ID: 'a/b' };
    writeFileSync(join(cwd, 'in.jsonl'), ['a', 'b'].map((op_name) => `{"start":{"op_name":"${op_name}"}}\n`).join(''));
    const run = (...args: string[]) =>
      svc(['call', 'start', '--batch', 'in.jsonl', '-o', 'out.jsonl', ...args], { cwd, env });
    const first = await run('--concurrency', '1');
    expect(first.code).toBe(10);
    expect(first.stderr).toContain('1 done, 0 failed, 1 unknown');
    expect(first.stderr).toContain('\n  lines that may have been applied: 2; --resume sends them again\n');
    isBroken = false;
    const second = await run('--resume');
    expect({ code: second.code, stderr: second.stderr }).toMatchObject({ code: 0 });
    expect(seen.map(({ id }) => id)).toEqual([seen[0]?.id, seen[1]?.id, seen[1]?.id]);
    expect(seen[2]).toEqual(seen[1]);
    expect(seen[0]?.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(new Set(seen.flatMap(({ id, trace_id }) => [id, trace_id])).size).toBe(4);
  });
});

it.each([
  [{ id: '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e07' }, '--resume', 2],
  [{ id: '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e08' }, '--resume --retry-unknown', 1],
  [{}, '--resume --retry-unknown', 1],
  [{ id: '' }, '--resume --retry-unknown', 1],
])('a feedback record with %j that may have been applied is sent again with %s', async (more, flags, requests) => {
  const cwd = temporaryDirectory();
  const { url, counts } = await countingServer(String, (_, response) => void response.destroy());
  const env = { ...credentials, SVC_BASE_URL: url, SVC_RETRIES: '0' };
  const record = {
    project_id: 'a/b',
    svc_ref: 'svc:///a/b/object/answer:v3',
    feedback_id: '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e07',
    feedback_type: 'rating',
    payload: {},
    ...more,
  };
  writeFileSync(join(cwd, 'in.jsonl'), JSON.stringify(record));
  const args = ['feedback', 'replace', '--batch', 'in.jsonl', '-o', 'out.jsonl'];
  const { code, stderr } = await svc(args, { cwd, env });
  expect(code).toBe(10);
  expect(stderr).toContain(`lines that may have been applied: 1; ${flags} sends them again\n`);
  expect((await svc([...args, '--resume'], { cwd, env })).code).toBe(10);
  expect([...counts.values()]).toEqual([requests]);
});

it('a training job that may have been applied is sent again with --resume --retry-unknown, one that was applied is not', async () => {
  const cwd = temporaryDirectory();
  let requests = 0;
  const { url } = await countingServer(String, (_, response) => {
    requests += 1;
    answerJson(response, { id: '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e07' }, requests === 1 ? 502 : 200);
  });
  const env = { ...credentials, SVC_BASE_URL: url, SVC_DATA_DIR: temporaryDirectory() };
  const job = { model_id: '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e08', trajectory_groups: [{ trajectories: [] }] };
  writeFileSync(join(cwd, 'in.jsonl'), JSON.stringify(job));
  const run = (output: string, ...flags: string[]) =>
    svc(['train', '--batch', 'in.jsonl', '-o', output, '--resume', ...flags], { cwd, env });
  const hint = 'lines that may have been applied: 1; --resume --retry-unknown sends them again\n';
  for (const _ of ['first', 'second'])
    expect(await run('out.jsonl')).toMatchObject({ code: 10, stderr: expect.stringContaining(hint) });
  const elsewhere = await run('other.jsonl', '--retry-unknown');
  expect(elsewhere).toMatchObject({ code: 10, stderr: expect.stringContaining('nothing was sent (line 1)') });
  expect(await run('out.jsonl', '--retry-unknown')).toMatchObject({ code: 0 });
  expect((await run('third.jsonl', '--retry-unknown')).code).toBe(10);
  expect(requests).toBe(2);
});

describe('a training job whose run was killed between the job history and its result', () => {
  const modelId = '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e08';
  const jobId = (at: number): string => `0199f3c0-5f3a-7c21-9b6e-${String(at).padStart(12, '0')}`;

  /** A batch of jobs that was completed, and then lost its results, as after a kill. */
  const lostResults = async (count: number, isEqual = false) => {
    const cwd = temporaryDirectory();
    let requests = 0;
    const { url } = await countingServer(String, (_, response) => {
      requests += 1;
      answerJson(response, { id: jobId(requests) });
    });
    const job = (at: number) => ({
      model_id: modelId,
      trajectory_groups: [{ trajectories: [{ reward: isEqual ? 0 : at }] }],
    });
    const text = Array.from({ length: count }, (_, at) => `${JSON.stringify(job(at))}\n`).join('');
    writeFileSync(join(cwd, 'in.jsonl'), text);
    const run = (...args: string[]): Promise<Result> =>
      svc(['train', '--batch', 'in.jsonl', '-o', 'out.jsonl', '--no-check', '--concurrency', '1', ...args], {
        cwd,
        env: { ...credentials, SVC_BASE_URL: url, SVC_DATA_DIR: cwd },
      });
    const first = await run(...(isEqual ? ['--allow-duplicate'] : []));
    expect(first.code, first.stderr).toBe(0);
    writeFileSync(join(cwd, 'out.jsonl'), '');
    const history = join(cwd, 'training-jobs.jsonl');
    const ids = (): (string | undefined)[] =>
      readFileSync(join(cwd, 'out.jsonl'), 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).response?.id);
    return { cwd, run, history, ids, requests: () => requests };
  };

  it('has the outcome that the job history knows', async () => {
    const { run, ids, requests, history } = await lostResults(3);
    // The last one was killed before its outcome was recorded.
    const records = readFileSync(history, 'utf8').trimEnd().split('\n');
    writeFileSync(
      history,
      records
        .slice(0, -1)
        .map((record) => `${record.replace(/"pid":\d+/, '"pid":99999999')}\n`)
        .join(''),
    );
    const { code, stderr } = await run('--resume');
    expect({ code, stderr }).toMatchObject({
      code: 10,
      stderr: expect.stringContaining('2 done, 0 failed, 1 unknown'),
    });
    expect(stderr).toContain('lines that may have been applied: 3; --resume --retry-unknown sends them again');
    expect(ids()).toEqual([jobId(1), jobId(2), undefined]);
    expect(requests()).toBe(3);
    expect(await run('--resume', '--retry-unknown')).toMatchObject({ code: 0 });
    expect(ids()).toEqual([jobId(1), jobId(2), jobId(4)]);
  });

  it('has not that of an equal line, or of another batch', async () => {
    const { run, ids, requests, history } = await lostResults(2, true);
    const records = readFileSync(history, 'utf8').trimEnd().split('\n');
    const keep = records.filter((record) => !record.includes('"line":2,') && !record.includes(jobId(2)));
    expect(keep).toHaveLength(2);
    writeFileSync(history, keep.map((record) => `${record}\n`).join(''));
    expect(await run('--resume', '--allow-duplicate')).toMatchObject({ code: 10 });
    expect(ids()).toEqual([jobId(1), undefined]);
    const elsewhere = await run('-o', 'other.jsonl');
    expect(elsewhere.stderr).toContain('0 done, 2 failed');
    expect(requests()).toBe(2);
  });
});

it('a training job is in the journal before it is in the job history', async () => {
  const cwd = temporaryDirectory();
  const { url } = await countingServer(String, (_, response) => answerJson(response, { id: 'x' }));
  writeFileSync(join(cwd, 'in.jsonl'), '{"model_id":"0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e08","trajectory_groups":[]}');
  const [inFlight, lock] = [join(cwd, 'out.jsonl.journal'), join(cwd, 'training-jobs.jsonl.lock')];
  writeFileSync(lock, `${process.pid} ${hostname()} a1`);
  const running = svc(['train', '--batch', 'in.jsonl', '-o', 'out.jsonl'], {
    cwd,
    env: { ...credentials, SVC_BASE_URL: url, SVC_DATA_DIR: cwd },
  });
  const journal = () => existsSync(inFlight) && readFileSync(inFlight, 'utf8');
  await expect.poll(journal, { timeout: 20_000 }).toContain('{"sending":1,');
  rmSync(lock);
  expect((await running).code).toBe(0);
});

it('feedback without an id that got an invalid response is not said to be sent again', async () => {
  const cwd = temporaryDirectory();
  const { url } = await countingServer(String, (_, response) => answerJson(response, {}));
  const record = {
    project_id: 'a/b',
    svc_ref: 'svc:///a/b/object/o:v',
    feedback_id: 'f',
    feedback_type: 't',
    payload: {},
  };
  writeFileSync(join(cwd, 'in.jsonl'), JSON.stringify(record));
  const { stderr } = await svc(['feedback', 'replace', '--batch', 'in.jsonl', '-o', 'out.jsonl'], {
    cwd,
    env: { ...credentials, SVC_BASE_URL: url },
  });
  expect(stderr).toContain(
    '\n  the failed lines were applied; to send them again, remove their results from the output; then --resume --retry-unknown\n',
  );
  expect(readdirSync(cwd).sort()).toEqual(['in.jsonl', 'out.jsonl', 'out.jsonl.journal']);
});

describe('a call that was applied and got an invalid response', () => {
  const begun = async () => {
    const cwd = temporaryDirectory();
    const ids: string[] = [];
    const { url } = await countingServer(
      () => '',
      ({ text }, response) => {
        ids.push(JSON.parse(text).start.id);
        answerJson(response, ids.length === 1 ? {} : { id: 'i', trace_id: 't' });
      },
    );
    const env = { ...credentials, SVC_BASE_URL: url, SVC_PROJECT_ID: 'a/b' };
    writeFileSync(join(cwd, 'in.jsonl'), '{"start":{"op_name":"a"}}\n');
    const run = (...args: string[]) =>
      svc(['call', 'start', '--batch', 'in.jsonl', '-o', 'out.jsonl', ...args], { cwd, env });
    expect((await run()).code).toBe(10);
    return { cwd, ids, run };
  };

  it('is the same call when it is sent again', async () => {
    const { ids, run } = await begun();
    expect((await run('--resume')).code).toBe(0);
    expect(ids).toEqual([ids[0], ids[0]]);
    expect((await run('--resume')).code).toBe(0);
    expect(ids).toHaveLength(2);
  });

  it('without the object of its fields is sent with --no-check, unless a flag belongs into that object', async () => {
    const bodies: string[] = [];
    const { url } = await countingServer(
      () => '',
      ({ text }, response) => {
        bodies.push(text);
        answerJson(response, { id: 'i', trace_id: 't' });
      },
    );
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'in.jsonl'), '{"op_name":"a"}\n');
    const run = (...args: string[]) =>
      svc(['call', 'start', '--batch', 'in.jsonl', ...args], { cwd, env: { ...credentials, SVC_BASE_URL: url } });
    for (const flags of [[], ['--no-check', '--project-id', 'a/b']]) {
      const { code, stdout } = await run(...flags);
      expect(code).toBe(10);
      expect(stdout).toContain('"path":"start"');
    }
    expect((await run('--no-check')).code).toBe(0);
    expect(bodies).toEqual(['{"op_name":"a"}']);
  });

  it('is never sent again by --resume once its time is lost', async () => {
    const { cwd, ids, run } = await begun();
    rmSync(join(cwd, 'out.jsonl.journal'));
    for (const _ of ['first', 'second', 'third']) expect((await run('--resume')).code).toBe(10);
    expect(ids).toHaveLength(1);
  });
});

it('a service that always fails gets 20 requests and 10 trials, and the rest of the lines stays unsent', async () => {
  const cwd = temporaryDirectory();
  const { url, counts } = await countingServer(String, (_, response) => answerJson(response, {}, 500));
  const lines = Array.from({ length: 200 }, (_, at) => `{"start":{"project_id":"a/b","op_name":"c${at}"}}\n`);
  writeFileSync(join(cwd, 'in.jsonl'), lines.join(''));
  const { code, stderr } = await svc(['call', 'start', '--batch', 'in.jsonl', '-o', 'out.jsonl'], {
    cwd,
    env: { ...credentials, SVC_BASE_URL: url },
    // Time passes faster than in use.
    runtime: {
      elapsed: () => performance.now() * 100,
      after: (milliseconds, action) => after(milliseconds / 100, action),
    },
  });
  expect(code).toBe(10);
  const requests = [...counts.values()].reduce((sum, count) => sum + count, 0);
  // Those that were in flight when the twentieth failed come on top.
  expect(requests).toBeGreaterThanOrEqual(30);
  expect(requests).toBeLessThan(120);
  expect(counts.size).toBeLessThan(120);
  expect(stderr).toContain(`200 lines: 0 done, 0 failed, ${counts.size} unknown, ${200 - counts.size} not sent`);
  expect(stderr).toMatch(/the service failed \d+ requests in a row, the last with: /);
});

describe('an interrupted batch', () => {
  it('stays unknown if its line is no longer valid', async () => {
    const { run, lines, cwd } = await scene([chat('p1', { foo: 1 })]);
    expect((await run(['-o', 'out.jsonl'])).code).toBe(0);
    // As after a kill before the result.
    writeFileSync(join(cwd, 'out.jsonl'), '');
    const resumed = await run(['-o', 'out.jsonl', '--resume', '--strict', '--retry-unknown']);
    expect(resumed.stderr).toContain('0 failed, 1 unknown');
    expect(lines()).toMatchObject([
      { line: 1, exit_code: 8, applied: 'unknown', error: { hint: expect.stringContaining('no longer valid') } },
    ]);
  });

  it('is refused without --resume, and continued with it', async () => {
    const { run, lines, counts, cwd } = await scene(many(6), ({ key, count }, response) =>
      key === 'p4' && count === 1 ? answerJson(response, {}, 404) : answerJson(response, completion(key)),
    );
    const first = await run(['-o', 'out.jsonl']);
    expect(first.code).toBe(10);
    expect(first.stderr).toContain('--resume sends lines without a result, and failed lines that were not applied');
    const again = await run(['-o', 'out.jsonl']);
    expect(again).toMatchObject({ code: 2, stdout: '' });
    expect(again.stderr).toContain('out.jsonl already exists\n  use --resume to continue');
    expect((await run(['-o', 'out.jsonl', '--resume'])).code).toBe(0);
    expect(lines().map(({ line }) => line)).toEqual([1, 2, 3, 4, 5, 6]);
    expect([...counts].filter(([, count]) => count !== 1)).toEqual([['p4', 2]]);
    const before = readFileSync(join(cwd, 'out.jsonl'));
    const nothingLeft = await run(['-o', 'out.jsonl', '--resume']);
    expect(nothingLeft.stderr).toMatch(/6 lines: 6 done, 0 failed, 0 unknown, 0 not sent\n/);
    expect(nothingLeft.code).toBe(0);
    expect(readFileSync(join(cwd, 'out.jsonl'))).toEqual(before);
  });

  it('counts results of the earlier run when it stops early', async () => {
    const { run } = await scene(many(20), ({ key }, response) =>
      key === 'p1' ? answerJson(response, {}, 404) : answerJson(response, completion(key)),
    );
    await run(['-o', 'out.jsonl']);
    const { code, stderr } = await run(['-o', 'out.jsonl', '--resume', '--fail-fast', '--concurrency', '1']);
    expect(code).toBe(10);
    expect(stderr).toContain('20 lines: 19 done, 1 failed, 0 unknown, 0 not sent');
  });

  it('records the failure of a line that waits for a retry when it stops', async () => {
    const cwd = temporaryDirectory();
    const { url } = await countingServer(String, ({ text }, response) => {
      const isFirst = JSON.parse(text).start.op_name === 'c1';
      if (isFirst) response.setHeader('Retry-After', '30');
      answerJson(response, {}, isFirst ? 500 : 404);
    });
    const input = [1, 2].map((at) => `{"start":{"project_id":"a/b","op_name":"c${at}"}}\n`);
    writeFileSync(join(cwd, 'in.jsonl'), input.join(''));
    const args = ['call', 'start', '--batch', 'in.jsonl', '-o', 'out.jsonl', '--max-failures', '0', '--rate', '2'];
    const { code } = await svc(args, { cwd, env: { ...credentials, SVC_BASE_URL: url } });
    expect(code).toBe(10);
    const entries = readFileSync(join(cwd, 'out.jsonl'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(entries.find(({ line }) => line === 1)).toMatchObject({
      status: 500,
      error: { exit_code: 6, applied: 'unknown', message: expect.not.stringContaining('interrupted') },
    });
  });

  it('names --resume for calls of the earlier run that it did not come to', async () => {
    const cwd = temporaryDirectory();
    const { url } = await countingServer(String, ({ text }, response) => {
      const { op_name, id, trace_id } = JSON.parse(text).start;
      if (op_name === 'c15') response.destroy();
      else answerJson(response, { id, trace_id }, op_name === 'c1' ? 404 : 200);
    });
    const input = Array.from({ length: 20 }, (_, at) => `{"start":{"project_id":"a/b","op_name":"c${at + 1}"}}\n`);
    writeFileSync(join(cwd, 'in.jsonl'), input.join(''));
    const args = ['call', 'start', '--batch', 'in.jsonl', '-o', 'out.jsonl', '--retries', '0', '--concurrency', '1'];
    const env = { ...credentials, SVC_BASE_URL: url };
    for (const flags of [[], ['--resume', '--fail-fast']]) {
      const { stderr } = await svc([...args, ...flags], { cwd, env });
      expect(stderr).toContain('20 lines: 18 done, 1 failed, 1 unknown, 0 not sent');
      expect(stderr).toContain('lines that may have been applied: 15; --resume sends them again\n');
    }
  });

  it('reports a call as applied if an earlier run applied it', async () => {
    const cwd = temporaryDirectory();
    const bodies = new Set<string>();
    const { url } = await countingServer(String, ({ text, count }, response) => {
      const { id, trace_id } = JSON.parse(text).start;
      bodies.add(text);
      if (count === 2) answerJson(response, {}, 400);
      else answerJson(response, count === 1 ? [] : { id, trace_id });
    });
    writeFileSync(join(cwd, 'in.jsonl'), '{"start":{"project_id":"a/b","op_name":"c"}}\n');
    const args = ['call', 'start', '--batch', 'in.jsonl', '-o', 'out.jsonl'];
    const env = { ...credentials, SVC_BASE_URL: url };
    for (const [flags, exitCode] of [
      [[], 11],
      [['--resume'], 5],
      [['--resume'], 0],
    ] as const) {
      const { stderr } = await svc([...args, ...flags], { cwd, env });
      expect(JSON.parse(readFileSync(join(cwd, 'out.jsonl'), 'utf8')), stderr).toMatchObject({
        exit_code: exitCode,
        applied: 'yes',
      });
    }
    expect(bodies.size).toBe(1);
  });

  it('counts lines that an earlier run may have sent as unknown when it stops before them', async () => {
    const cwd = temporaryDirectory();
    const { url, counts } = await countingServer(String, ({ count }, response) =>
      count === 1 ? void response.destroy() : answerJson(response, {}, 404),
    );
    const input = [1, 2, 3, 4].map((at) => `{"start":{"project_id":"a/b","op_name":"c${at}"}}\n`);
    writeFileSync(join(cwd, 'in.jsonl'), input.join(''));
    const args = ['call', 'start', '--batch', 'in.jsonl', '-o', 'out.jsonl', '--retries', '0', '--concurrency', '1'];
    const env = { ...credentials, SVC_BASE_URL: url };
    await svc(args, { cwd, env });
    // Only the log has the lines now, as after a kill.
    rmSync(join(cwd, 'out.jsonl'));
    const { stderr } = await svc([...args, '--resume', '--fail-fast'], { cwd, env });
    expect([...counts.values()]).toEqual([2, 1, 1, 1]);
    expect(stderr).toContain('4 lines: 0 done, 0 failed, 4 unknown, 0 not sent');
    expect(stderr).toContain('lines that may have been applied: 1-4; --resume sends them again\n');
  });

  it('lists lines that may have been applied, and sends them again only with --retry-unknown', async () => {
    const { run, lines, counts, env } = await scene(many(5), ({ key, count }, response) =>
      (key === 'p2' || key === 'p3') && count === 1 ? void response.destroy() : answerJson(response, completion(key)),
    );
    const first = await run(['-o', 'out.jsonl']);
    expect(first.code).toBe(10);
    expect(first.stderr).toContain('lines that may have been applied: 2-3; --resume --retry-unknown sends them again');
    const second = await run(['-o', 'out.jsonl', '--resume']);
    expect(second.code).toBe(10);
    expect(second.stderr).toContain('5 lines: 3 done, 0 failed, 2 unknown, 0 not sent');
    expect([...counts.values()]).toEqual([1, 1, 1, 1, 1]);
    const unreachable = { ...env, SVC_BASE_URL: 'http://127.0.0.1:9' };
    const elsewhere = ['-o', 'out.jsonl', '--resume', '--retry-unknown', '--max-outage', '0', '--retries', '0'];
    expect(await run(elsewhere, { env: unreachable })).toMatchObject({
      code: 13,
      stderr: expect.stringContaining('its results came from a base URL other than http://127.0.0.1:9/'),
    });
    const lost = await run([...elsewhere, '--accept-changes'], { env: unreachable });
    expect(lost.stderr).toContain('5 lines: 3 done, 0 failed, 2 unknown, 0 not sent');
    expect((await run(['-o', 'out.jsonl', '--resume'])).stderr).toContain('2 unknown');
    expect((await run(['-o', 'out.jsonl', '--resume', '--retry-unknown'])).code).toBe(0);
    expect(lines().map(({ line, exit_code }) => [line, exit_code])).toEqual([1, 2, 3, 4, 5].map((line) => [line, 0]));
    expect(
      [...counts]
        .filter(([, count]) => count === 2)
        .map(([key]) => key)
        .sort(),
    ).toEqual(['p2', 'p3']);
  });

  it('belongs to its base URL, path included', async () => {
    const { run, counts, env } = await scene(many(3), ({ key }, response) =>
      key === 'p2' ? answerJson(response, {}, 404) : answerJson(response, completion(key)),
    );
    const at = (path: string) => ({ env: { ...env, SVC_BASE_URL: `${env.SVC_BASE_URL}${path}` } });
    expect((await run(['-o', 'out.jsonl'], at('/one'))).code).toBe(10);
    for (const path of ['/two', '', '/one/more'])
      expect(await run(['-o', 'out.jsonl', '--resume'], at(path)), path).toMatchObject({
        code: 13,
        stderr: expect.stringContaining(`a base URL other than ${env.SVC_BASE_URL}${path}/\n`),
      });
    expect([...counts.values()]).toEqual([1, 1, 1]);
    expect((await run(['-o', 'out.jsonl', '--resume'], at('/one/'))).code).toBe(10);
    expect([...counts.values()]).toEqual([1, 2, 1]);
  });

  it('belongs to its operation, and to one process at a time', async () => {
    const { run, cwd, env } = await scene(
      many(2),
      ({ count }, response) => void response.destroy(count > 5 ? undefined : new Error('gone')),
    );
    await run(['-o', 'out.jsonl']);
    const other = await svc(['call', 'start', '--batch', 'in.jsonl', '-o', 'out.jsonl', '--resume'], { cwd, env });
    expect(other).toMatchObject({ code: 13 });
    expect(other.stderr).toContain('it holds results of /v1/chat/completions, not /call/start');
    writeFileSync(join(cwd, 'out.jsonl.lock'), `${process.pid} elsewhere 00`);
    const locked = await run(['-o', 'out.jsonl', '--resume']);
    expect(locked.code).toBe(13);
    expect(locked.stderr).toContain('out.jsonl is in use by process');
  });
});

describe('files that were not written by a batch', () => {
  it.each([
    ['out.jsonl', 'my only note'],
    ['out.jsonl', '{"my":"json"}'],
    ['out.jsonl', '{"line":9999999999999,"exit_code":0,"applied":"yes"}\n'],
    ['out.jsonl', '{"line":1099511627777,"id":null,"status":200,"exit_code":0,"applied":"yes","response":{}}\n'],
    ['out.jsonl.journal', '{"my":"json"}\n', 13],
    ['out.jsonl.journal', 'my notes\n', 13],
  ])('%s with %j stays unchanged', async (name, text, exitCode = 12) => {
    const { run, counts, cwd } = await scene(many(2));
    writeFileSync(join(cwd, name), text);
    const { code, stderr } = await run(['-o', 'out.jsonl', '--resume']);
    expect({ code, stderr }).toMatchObject({
      code: exitCode,
      stderr: expect.stringMatching(/^svc: out\.jsonl.*\n {2}/),
    });
    expect(readFileSync(join(cwd, name), 'utf8')).toBe(text);
    expect(counts.size).toBe(0);
  });
});

describe('shards', () => {
  it('together process every line once, and are merged', async () => {
    const { run, lines, counts, cwd, env } = await scene(many(23));
    for (const index of [1, 2, 3])
      expect((await run(['-o', `${index}.jsonl`, '--shard', `${index}/3`, '-q'])).code).toBe(0);
    const scheduled = { ...env, SVC_SHARD: 'auto', CLOUD_RUN_TASK_INDEX: '1', CLOUD_RUN_TASK_COUNT: '3' };
    const files = ['-o', 'out-{shard}.jsonl', '--junit', 'junit-{shard}.xml'];
    expect((await run([...files, '--resume'], { env: scheduled })).code).toBe(0);
    expect(readFileSync(join(cwd, 'junit-2-of-3.xml'), 'utf8')).toContain('tests="8"');
    expect(
      lines('out-2-of-3.jsonl')
        .map(({ line }) => line)
        .sort(),
    ).toEqual([10, 11, 12, 13, 14, 15, 16, 9]);
    expect(await run(['-o', 'x'], { env: { ...env, SVC_SHARD: 'auto' } })).toMatchObject({ code: 2 });
    expect(counts.size).toBe(23);
    expect([...counts.values()].filter((count) => count > 1)).toHaveLength(8);
    const merge = (...args: string[]) => svc(['batch', 'merge', ...args], { cwd, env });
    const whole = await merge('1.jsonl', '2.jsonl', '3.jsonl', '--input', 'in.jsonl');
    expect({ code: whole.code, stderr: whole.stderr }).toEqual({
      code: 0,
      stderr: 'svc: 23 lines: 23 done, 0 failed, 0 unknown; 0 missing\n',
    });
    expect(entries(whole.stdout).map(({ line }) => line)).toEqual(Array.from({ length: 23 }, (_, at) => at + 1));
    const part = await merge('3.jsonl', '1.jsonl', '-o', 'all.jsonl', '--input', 'in.jsonl');
    expect(part.code).toBe(10);
    expect(part.stderr).toContain(
      '15 lines: 15 done, 0 failed, 0 unknown; 8 missing: lines 9-16; missing: shard 2/3\n',
    );
    expect((await merge('none.jsonl')).code).toBe(12);
    expect((await merge()).code).toBe(2);
  });
});

describe('a dry run', () => {
  it('checks every line with its column, counts, and sends nothing', async () => {
    const { run, counts } = await scene([chat('p1'), chat('p2', { n: 'x' }), '', '[]', '{"messages":[]'], echo);
    const { code, stdout, stderr } = await run(['--dry-run', '--concurrency', '2', '-q'], { env: {} });
    expect(code).toBe(3);
    expect(JSON.parse(stdout)).toEqual({ lines: 4, good: 1, bad: 3, bytes: 45 });
    expect(stderr).toContain('3 of 4 lines are invalid; nothing was sent');
    expect(stderr).toContain('in.jsonl:2:50 n: must be an integer or null, not "x"');
    expect(stderr).toContain('in.jsonl:4:1: must be an object, not an array');
    expect(stderr).toContain('in.jsonl:5:15: invalid JSON');
    expect(counts.size).toBe(0);
  });

  it('with --resume compares the checkpoint as a run would, and changes nothing', async () => {
    const { run, counts, cwd } = await scene(many(2));
    await run(['-o', 'out.jsonl']);
    const content = () =>
      readdirSync(cwd).map((name) => [name, name.includes('.jsonl') && readFileSync(join(cwd, name))]);
    const changed = [chat('changed'), chat('p2'), chat('p3')].map((line) => `${JSON.stringify(line)}\n`).join('');
    const dryRun = (...more: string[]) => run(['-o', 'out.jsonl', '--resume', '--dry-run', ...more]);
    expect(await dryRun()).toMatchObject({ code: 0, stdout: expect.stringContaining('"lines":2') });
    writeFileSync(join(cwd, 'in.jsonl'), changed);
    const before = content();
    expect(await dryRun()).toMatchObject({ code: 13, stdout: '', stderr: expect.stringContaining('changed lines: 1') });
    expect(await dryRun('--accept-changes')).toMatchObject({ code: 0, stdout: expect.stringContaining('"lines":3') });
    expect(await dryRun('--accept-changes', '--seed', '1')).toMatchObject({ code: 0 });
    expect(await dryRun('--seed', '1')).toMatchObject({
      code: 13,
      stderr: expect.stringContaining('belongs to another batch'),
    });
    expect([content(), counts.size]).toEqual([before, 2]);
  });
});

it.each(['0', '0s', '0ms'])('with --max-outage %s, lines fail at once if the service is down', async (time) => {
  const { run, env } = await scene(many(2));
  const { code, stderr } = await run(['-o', 'out.jsonl', '--retries', '0', '--max-outage', time], {
    env: { ...env, SVC_BASE_URL: 'http://127.0.0.1:9' },
  });
  expect(code).toBe(10);
  expect(stderr).toContain('2 lines: 0 done, 2 failed, 0 unknown, 0 not sent');
});

describe('an invalid command line', () => {
  it.each<[string, RegExp, string[]]>([
    ['-f', /--file cannot be combined with --batch/, ['-f', 'x.json']],
    ['words', /not from the argument "hello"/, ['hello']],
    ['--message', /--message sets up one body/, ['--message', 'user:hi']],
    ['--conversation', /--conversation sets up one body/, ['--conversation', 'c.json']],
    ['--curl', /--curl cannot be combined with --batch/, ['--curl']],
    ['--format text', /\n {2}use jsonl\n$/, ['--format', 'text']],
    [
      '--format csv',
      /--format cannot be "csv"\n {2}did you mean: svc batch merge out\.jsonl --join/,
      ['--format', 'csv'],
    ],
    ['--format csv --dry-run', /\n {2}use json, jsonl, yaml, table or text\n$/, ['--format', 'csv', '--dry-run']],
    ['--junit -', /--junit writes a file, not stdout/, ['--junit', '-']],
    ['--max-outage 0x', /--max-outage cannot be "0x"/, ['--max-outage', '0x']],
    ['--json', /use --format jsonl/, ['--json']],
    ['--resume without -o', /not stdout/, ['--resume']],
    ['--resume with what is no file', /\/dev\/null is not a regular file/, ['--resume', '-o', '/dev/null']],
    ['--retry-unknown alone', /needs --resume/, ['--retry-unknown', '-o', 'x']],
    ['--concurrency 0', /--concurrency cannot be "0"/, ['--concurrency', '0']],
    ['--rate fast', /--rate cannot be "fast"/, ['--rate', 'fast']],
    ['--rate 0', /--rate cannot be "0"/, ['--rate', '0']],
    ['--shard 4/3', /--shard cannot be "4\/3"/, ['--shard', '4/3']],
    ['two readers of stdin', /both name it/, ['--batch', '-', '--messages', '@-']],
  ])('%s', async (_, message, args) => {
    const { run, counts, cwd } = await scene(many(2));
    const { code, stdout, stderr } = await run(args, { stdin: '' });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(message);
    expect(counts.size).toBe(0);
    expect(existsSync(join(cwd, 'out.jsonl'))).toBe(false);
  });

  it.each(['--concurrency=3', '--rate=1/s', '--resume', '--retry-unknown', '--fail-fast', '--ordered', '--shard=1/3'])(
    '%s without --batch',
    async (flag) => {
      const { counts, cwd, env } = await scene([]);
      const { code, stderr } = await svc(['chat', 'hi', flag], { cwd, env });
      expect(code).toBe(2);
      expect(stderr).toContain(`${flag.replace(/=.*/, '')} works only with --batch`);
      expect(counts.size).toBe(0);
    },
  );

  it.each<[string, number, RegExp, string[]]>([
    ['a file that is not there', 12, /cannot read none.jsonl/, ['--batch', 'none.jsonl']],
    ['a directory', 12, /cannot read \.: it is a directory/, ['--batch', '.']],
    ['no credentials', 4, /no token/, ['-o', 'out.jsonl']],
    ['a default that cannot be read', 3, /--seed/, ['--seed', 'x']],
  ])('%s', async (_, expected, message, args) => {
    const { run, cwd, env } = await scene(many(2));
    const { code, stderr } = await run(args, { env: expected === 4 ? { SVC_BASE_URL: 'https://svc.invalid' } : env });
    expect(code, stderr).toBe(expected);
    expect(stderr).toMatch(message);
    expect(existsSync(join(cwd, 'out.jsonl'))).toBe(false);
  });
});
