import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Send } from '../../src/http/message.ts';
import { clock } from '../support/clock.ts';
import { type Result, svc, temporaryDirectory } from '../support/svc.ts';

const env = { SVC_BASE_URL: 'https://svc.test', SVC_TOKEN: 'tok-en-1', SVC_RETRIES: '0' };

const completion = (content: string, finish_reason = 'stop') =>
  JSON.stringify({
    id: 'c1',
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason }],
    usage: { prompt_tokens: 3, completion_tokens: 20, total_tokens: 23 },
  });

interface Asked extends Result {
  readonly bodies: readonly string[];
  readonly history: readonly unknown[];
}

async function ask(
  response: string | readonly string[],
  flags: readonly string[],
  cwd = temporaryDirectory(),
  history = '',
): Promise<Asked> {
  const bodies: string[] = [];
  const responses = typeof response === 'string' ? undefined : [...response];
  let elapsedMs = 0;
  const send: Send = async ({ body }) => {
    bodies.push(Buffer.from(body instanceof Uint8Array ? body : '').toString());
    const text = typeof response === 'string' ? response : (responses?.shift() ?? '');
    const isStream = text.startsWith('data:');
    elapsedMs += 2000;
    return {
      status: 200,
      statusText: '',
      headers: [['Content-Type', isStream ? 'text/event-stream' : 'application/json']],
      body: (async function* () {
        yield Buffer.from(text);
      })(),
    };
  };
  const args = flags.includes('--batch') ? ['chat', ...flags] : ['chat', 'x', '--no-stdin', ...flags];
  const setting = { env: { ...env, SVC_HISTORY: history }, send, cwd, runtime: { elapsed: () => elapsedMs } };
  const result = await svc(args, setting);
  const records = history ? readFileSync(join(cwd, 'data/requests.jsonl'), 'utf8').trim().split('\n') : [];
  return { ...result, bodies, history: records.map((record) => JSON.parse(record)) };
}

describe('expectations', () => {
  it.each(['length', 'content_filter', 'model_length'])('do not pass on what a cut text lacks: %s', async (reason) => {
    const absent = await ask(completion('a river', reason), ['--expect-not', 'lake', '--expect-text', 'river']);
    const problem = `--expect-not lake: could not be checked: the text was cut (finish reason ${reason})`;
    expect(absent).toMatchObject({ code: 13, stderr: expect.stringContaining(`expectation failed: ${problem}\n`) });
    const present = await ask(completion('a lake', reason), ['--expect-not', 'lake']);
    expect(present.stderr).toContain('the text contains "lake"');
    expect((await ask(completion('a river'), ['--expect-not', 'lake'])).code).toBe(0);
  });

  it.each([
    ['--expect-text', '', /^svc: --expect-text is empty\n {2}every text matches it; /],
    ['--expect-not', '', /^svc: --expect-not is empty\n/],
    ['--expect-text', '(?i)yes', /\n {2}for letters of either case, write \[Yy\]es\n$/],
  ])('refuse %s %j before anything is sent', async (flag, value, message) => {
    const { code, stderr, bodies } = await ask(completion('Yes'), [flag, value]);
    expect({ code, bodies }).toEqual({ code: 2, bodies: [] });
    expect(stderr).toMatch(message);
  });

  const schema = '{"type":"object","required":["city"],"properties":{"city":{"type":"string"}}}';
  it('that failed are reported with the facts of the request', async () => {
    const { code, stderr } = await ask(completion('No'), ['--expect-text', '^Yes', '--error-format', 'json']);
    expect(code).toBe(13);
    expect(JSON.parse(stderr).error).toMatchObject({
      code: 'safety_check',
      status: 200,
      url: 'https://svc.test/v1/chat/completions',
      applied: 'yes',
      attempts: 1,
    });
  });

  it.each([
    ['text', 'Yes, it is.', ['--expect-text', '^Yes', '--expect-text', 'is'], undefined],
    ['text', 'No', ['--expect-text', '^Yes'], '--expect-text ^Yes: no match in "No"'],
    ['not', 'I am sorry', ['--expect-not', 'sorry'], '--expect-not sorry: the text contains "sorry"'],
    ['not', 'fine', ['--expect-not', 'sorry'], undefined],
    ['schema', '{"city":"Ulm"}', ['--expect-schema', schema], undefined],
    ['schema', '{"town":"Ulm"}', ['--expect-schema', schema], "$ must have required property 'city'"],
    ['schema', '\ufeff{"city":"Ulm"}', ['--expect-schema', `\ufeff${schema}`], undefined],
    ['schema', 'Ulm', ['--expect-schema', schema], 'invalid JSON: "Ulm"'],
    ['schema', `"${'a'.repeat(40)}b"`, ['--expect-schema', '{"pattern":"^(a+)+$"}'], 'could not be checked'],
    ['finish', 'x', ['--expect-finish', 'stop'], undefined],
    ['finish', 'x', ['--expect-finish', 'length'], 'finish_reason is stop'],
    ['latency', 'x', ['--expect-max-latency', '2s'], undefined],
    ['latency', 'x', ['--expect-max-latency', '1.9'], '--expect-max-latency 1.9: the response took 2.00 s'],
  ])('%s of %s with %j', async (_, content, flags, problem) => {
    const { code, stdout, stderr } = await ask(completion(content), flags);
    expect(code).toBe(problem === undefined ? 0 : 13);
    expect(stdout).toBe(`${content}\n`);
    if (problem !== undefined) expect(stderr).toContain(problem);
  });

  it.each([
    [['--expect-text', '('], 2],
    [['--expect-schema', '7'], 2],
    [['--expect-schema', '{"type":1}'], 2],
    [['--expect-schema', '{'], 2],
    [['--expect-schema', '@missing.json'], 12],
    [['--expect-max-latency', 'soon'], 2],
    [['--junit', 'missing/junit.xml'], 12],
    [['--expect-text', '(', '--dry-run'], 2],
    [['--expect-schema', '{"type":1}', '--dry-run'], 2],
    [['--expect-schema', '@missing.json', '--dry-run'], 12],
    [['--expect-max-latency', 'soon', '--dry-run'], 2],
    [['--expect-text', '{{x}}', '--batch', 'missing.jsonl', '--dry-run'], 2],
    [['--expect-text', 'x', '--expect-schema', '{}', '--dry-run'], 0],
    [['--expect-text', 'x', '--curl'], 2],
    [['--junit', 'j.xml', '--dry-run'], 2],
  ])('%j sends nothing', async (flags, code) => {
    expect(await ask(completion('x'), flags)).toMatchObject({ code, bodies: [] });
  });

  it('read a schema from stdin, which is then not a part of the prompt', async () => {
    const args = ['chat', 'x', '--local', '--expect-schema', '@-'];
    const { code, stdout, stderr } = await svc(args, { stdin: '{"type":"object"}' });
    expect(code).toBe(13);
    expect(stdout).toMatch(/^You said "x"/);
    expect(stderr).toContain('--expect-schema @-: invalid JSON');
  });

  it.each([[], ['--max-failures', '0'], ['--fail-fast']])(
    'of a batch that is resumable: says what sends the failed lines again, which works: %s',
    async (...stop) => {
      const cwd = temporaryDirectory();
      writeFileSync(join(cwd, 'in.jsonl'), '{"messages":[{"role":"user","content":"x"}]}\n');
      const flags = ['--batch', 'in.jsonl', '--expect-text', '^Yes', '-o', 'out.jsonl', ...stop];
      const { code, stderr } = await ask([completion('No')], flags, cwd);
      expect(code).toBe(10);
      expect(stderr).toContain(
        'the failed lines were applied; to send them again, remove their results from the output; then --resume --retry-unknown',
      );
      const again = await ask([], [...flags, '--resume'], cwd);
      expect([again.code, again.bodies]).toEqual([10, []]);
      expect((await svc(['batch', 'merge', 'out.jsonl'], { cwd })).stderr).not.toContain('is not complete');
      writeFileSync(join(cwd, 'out.jsonl'), '');
      const removed = await ask([completion('Yes')], [...flags, '--resume', '--retry-unknown'], cwd);
      expect([removed.code, removed.bodies.length]).toEqual([0, 1]);
    },
  );

  it('apply to each line of a batch, and JUnit is read by another parser', async () => {
    const cwd = temporaryDirectory();
    writeFileSync(
      join(cwd, 'in.jsonl'),
      '{"messages":[]}\n{"messages":[]}\n{"messages":[]}\n'.replaceAll('[]', '[{"role":"user","content":"x"}]'),
    );
    const flags = [
      '--batch',
      'in.jsonl',
      '--ordered',
      '--concurrency',
      '1',
      '--expect-text',
      '^Yes',
      '--junit',
      'junit.xml',
    ];
    const hostile = 'No <b>&"\u0007\u001b[31m]]>';
    const responses = [completion('Yes'), completion(hostile), '{"no":"choices"}'];
    const { code, stdout, stderr } = await ask(responses, [...flags, '-o', '-'], cwd);
    expect(code).toBe(10);
    const failed = '1 × expectation failed: --expect-text ^Yes: no match in';
    expect(stderr).toContain(`${failed} "No <b>&\\"\\u0007\\u001b[31m]]>" (line 2)`);
    // The summary counts lines; a sentence about one request would not apply to any of them.
    expect(stderr).not.toContain('the request was applied');
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines[1]?.error).toMatchObject({ url: 'https://svc.test/v1/chat/completions', status: 200, attempts: 1 });
    expect(lines.map((line) => [line.exit_code, line.applied, line.expectations?.[0]?.passed])).toEqual([
      [0, 'yes', true],
      [13, 'yes', false],
      [11, 'yes', undefined],
    ]);
    expect(lines[1].response.choices[0].message.content).toBe(hostile);
    const script =
      'import sys,xml.etree.ElementTree as e\ns=e.parse(sys.argv[1]).getroot()[0]\nprint(s.get("tests"),s.get("failures"),s.get("errors"),[[c.tag for c in t] for t in s])';
    const { stdout: read, status } = spawnSync('python3', ['-c', script, join(cwd, 'junit.xml')], { encoding: 'utf8' });
    expect(status).toBe(0);
    expect(read).toBe("3 1 1 [['properties'], ['properties', 'failure'], ['error']]\n");
  });

  it('of a latency count the time of each line', async () => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'in.jsonl'), '{"messages":[{"role":"user","content":"x"}]}\n');
    const flags = ['--batch', 'in.jsonl', '--expect-max-latency', '1s', '-o', '-'];
    const { code, stdout } = await ask([completion('x')], flags, cwd);
    expect(code).toBe(10);
    expect(JSON.parse(stdout).expectations).toEqual([
      { expect: 'max_latency', value: '1s', passed: false, actual: 'the response took 2.00 s' },
    ]);
  });

  it.each([
    [['-o', 'F', '--junit', 'F'], '--junit and --output name the same file, F'],
    [['--conversation', 'F', '--junit', 'F'], '--junit and --conversation name the same file, F'],
    [['--batch', 'F', '-o', 'out', '--junit', 'F'], 'F is an input, and --junit would replace it'],
    [['--batch', 'in.jsonl', '-o', 'F', '--junit', './F'], '--junit and --output name the same file, ./F'],
    [['-f', 'F', '--junit', 'F'], 'F is an input, and --junit would replace it'],
    [['--tools', '@F', '--junit', 'F'], 'F is an input, and --junit would replace it'],
  ])('%j would replace a file, so nothing is sent', async (flags, message) => {
    const cwd = temporaryDirectory();
    const line = '{"messages":[{"role":"user","content":"x"}]}\n';
    for (const name of ['F', 'in.jsonl']) writeFileSync(join(cwd, name), flags[0] === '--conversation' ? '[]' : line);
    const { code, stderr, bodies } = await ask(completion('x'), flags, cwd);
    expect({ code, bodies }).toEqual({ code: 2, bodies: [] });
    expect(stderr).toBe(`svc: ${message}\n  choose another file with --junit\n`);
    expect(readdirSync(cwd).sort()).toEqual(['F', 'in.jsonl']);
  });

  it.each([
    [[], 12, 'svc: cannot write /dev/full'],
    [['--expect-text', '^Yes'], 13, 'svc: warning: cannot write /dev/full'],
  ])('with %j and a JUnit file that cannot be written: the history has the outcome', async (flags, code, problem) => {
    const { stderr, ...result } = await ask(
      completion('No'),
      ['--junit', '/dev/full', ...flags],
      temporaryDirectory(),
      '1',
    );
    expect(result).toMatchObject({ code, history: [{ exit_code: code, applied: 'yes', status: 200 }] });
    expect(stderr).toContain(problem);
    expect(stderr).toContain('the request was applied');
  });

  it.each([
    [[], 12, 'svc: cannot write /dev/full'],
    [['--expect-text', '^Yes'], 10, 'svc: warning: cannot write /dev/full'],
  ] as const)(
    'reports the outcome of a batch with %j although its JUnit report cannot be written',
    async (flags, code, message) => {
      const cwd = temporaryDirectory();
      writeFileSync(join(cwd, 'in.jsonl'), '{"model":"m","messages":[]}\n');
      const args = ['--batch', 'in.jsonl', '-o', 'out.jsonl', '--junit', '/dev/full', ...flags];
      const { stderr, ...result } = await ask(completion('No'), args, cwd);
      expect(result).toMatchObject({ code });
      expect(stderr).toContain(message);
      expect(stderr).toContain('1 line: ');
    },
  );

  it('of a failed request are an error in JUnit', async () => {
    const cwd = temporaryDirectory();
    expect(await ask('not JSON', ['--junit', 'junit.xml'], cwd)).toMatchObject({ code: 11 });
    expect(readFileSync(join(cwd, 'junit.xml'), 'utf8')).toContain('<error type="invalid_response"');
  });
});

describe('a response that cannot be printed', () => {
  it.each([
    [['--extract', 'json'], 13, 'failure'],
    [['-o', '/dev/full'], 12, 'error'],
  ])('with %j is saved, and its request is a failure', async (flags, code, element) => {
    const cwd = temporaryDirectory();
    const others = ['--conversation', 'c.json', '--junit', 'junit.xml', '--expect-text', 'kept'];
    const { history, ...result } = await ask(completion('kept'), [...flags, ...others], cwd, 'bodies');
    expect(result.code).toBe(code);
    expect(readFileSync(join(cwd, 'junit.xml'), 'utf8')).toContain(`<${element} `);
    expect(JSON.parse(readFileSync(join(cwd, 'c.json'), 'utf8')).at(-1)).toMatchObject({ content: 'kept' });
    expect(history).toMatchObject([{ exit_code: code, status: 200, completion_tokens: 20, response: { id: 'c1' } }]);
  });

  it('is saved from a stream', async () => {
    const cwd = temporaryDirectory();
    const stream =
      'data: {"choices":[{"index":0,"delta":{"content":"kept"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
    const flags = ['--set', 'stream:=true', '--json', '-o', '/dev/full', '--conversation'];
    expect(await ask(stream, [...flags, 'c.json'], cwd)).toMatchObject({ code: 12 });
    expect(readFileSync(join(cwd, 'c.json'), 'utf8')).toContain('kept');
  });
});

// A stream that the test's clock times: each wait in milliseconds, then the chunk.
function timedStream(...steps: readonly (readonly [waitMs: number, chunk: object | undefined])[]) {
  const { after, elapsed, advance } = clock();
  const send: Send = async () => ({
    status: 200,
    statusText: '',
    headers: [['Content-Type', 'text/event-stream']],
    body: (async function* () {
      for (const [waitMs, chunk] of steps) {
        advance(waitMs);
        if (chunk) yield Buffer.from(`data: ${JSON.stringify(chunk)}\n\n`);
      }
    })(),
  });
  return { env, send, runtime: { after, elapsed } };
}

const delta = (fields: object) => ({ choices: [{ index: 0, delta: fields }] });
const last = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage: { completion_tokens: 3 } };

describe('--stats', () => {
  it.each([
    { content: 'a' },
    { reasoning: 'a' },
    { refusal: 'a' },
    { tool_calls: [{ index: 0, id: 'c', function: { name: 'f', arguments: '' } }] },
  ])('times the first token, not the role before it: %j', async (fields) => {
    const role = delta({ role: 'assistant', content: '' });
    const setting = timedStream([500, role], [1000, delta(fields)], [300, last]);
    const { stderr } = await svc(['chat', 'x', '--no-stdin', '--stats'], setting);
    expect(stderr).toContain('first token after 1.50 s, 10 tokens/s, 1.80 s');
  });

  it('and --expect-max-latency leave out the wait for the end of a stream', async () => {
    const steps = [
      [500, delta({ content: 'a' })],
      [300, last],
      [2000, undefined],
    ] as const;
    const limit = ['--expect-max-latency', '1s'];
    const { code, stderr } = await svc(['chat', 'x', '--no-stdin', '--stats', ...limit], timedStream(...steps));
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('10 tokens/s, 0.80 s') });
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'b.jsonl'), '{"messages":[{"role":"user","content":"x"}],"stream":true}\n');
    const batch = await svc(['chat', '--batch', 'b.jsonl', '-q', ...limit], { cwd, ...timedStream(...steps) });
    expect(batch.code).toBe(0);
    expect(JSON.parse(batch.stdout)).toMatchObject({ exit_code: 0, ms: 800 });
  });

  it('reports tokens and speed on stderr, as JSON on request', async () => {
    const { stdout, stderr } = await ask(completion('x'), ['--stats']);
    expect(stdout).toBe('x\n');
    expect(stderr).toMatch(/^3 tokens in, 20 out, .*0 retries\n$/);
    expect((await ask(completion('x'), ['--stats', '-q'])).stderr).toMatch(/^3 tokens in, 20 out, .*\n$/);
    const json = await ask(completion('x'), ['--stats', '--error-format', 'json']);
    expect(JSON.parse(json.stderr)).toMatchObject({
      level: 'stats',
      prompt_tokens: 3,
      completion_tokens: 20,
      retries: 0,
    });
  });

  it.each([
    ['9007199254740993', /^3 tokens in, 9007199254740993 out, .* tokens\/s/],
    ['1e400', /^3 tokens in, 1e400 out, [\d.]+ s, /],
    ['1e308', /^3 tokens in, 1e308 out, [\d.]+ s, /],
    ['-20', /^3 tokens in, -20 out, [\d.]+ s, /],
    ['"20"', /^3 tokens in, \? out, [\d.]+ s, /],
  ])('keeps the digits of %s tokens', async (count, line) => {
    const cwd = temporaryDirectory();
    const response = completion('x').replace('"completion_tokens":20', `"completion_tokens":${count}`);
    expect((await ask(response, ['--stats'], cwd, '1')).stderr.split('\n').at(-2)).toMatch(line);
    const stats = (await ask(response, ['--stats', '--error-format', 'json'], cwd)).stderr;
    const stored = `"completion_tokens":${count.startsWith('"') ? 'null' : count}`;
    expect(stats).toContain(`${stored},`);
    expect(readFileSync(join(cwd, 'data/requests.jsonl'), 'utf8')).toContain(stored);
    expect((await svc(['log', '--json'], { cwd })).stdout).toContain(stored);
  });

  it('asks a stream that svc starts for its usage', async () => {
    const usage = '{"prompt_tokens":1,"completion_tokens":2}';
    const stream = `data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}],"usage":${usage}}\n\ndata: [DONE]\n\n`;
    const { bodies, stderr } = await ask(stream, ['--stats', '--format', 'jsonl']);
    expect(JSON.parse(bodies[0] ?? '')).toMatchObject({ stream: true, stream_options: { include_usage: true } });
    expect(stderr).toMatch(/1 token in, 2 out, first token after/);
    const { bodies: without } = await ask(stream, ['--format', 'jsonl']);
    expect(without[0]).not.toContain('stream_options');
  });
});

describe('--extract', () => {
  it.each([
    ['code', 'no block yet', 'no block yet\n'],
    ['json', '{"a":1', '{"a":1\n'],
    ['code', 'text\n```js\nf();\n', 'f();\n'],
  ])('%s of a stream that was cut prints what has arrived: %j', async (kind, content, expected) => {
    const cut = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`;
    const cwd = temporaryDirectory();
    const stderr = expect.stringContaining('without a finish reason');
    expect(await ask(cut, ['--extract', kind], cwd)).toMatchObject({ code: 11, stdout: expected, stderr });
    expect(await ask(cut, ['--extract', kind, '-o', 'a.txt'], cwd)).toMatchObject({ code: 11, stdout: '', stderr });
    expect(readFileSync(join(cwd, 'a.txt.partial'), 'utf8')).toBe(expected);
  });

  const fenced = 'Here:\n```js\nlet a = 1;\n```\nand\n~~~json\n{"a":1.0}\n~~~\n';
  it.each([
    ['code', fenced, 'let a = 1;\n'],
    ['json', fenced, '{"a":1.0}\n'],
    ['json', ' [1e400]\n', '[1e400]\n'],
    ['code', '```\ncut off', 'cut off\n'],
    ['code', '````md\n```\nx\n```\n````', '```\nx\n```\n'],
    ['code', '1. Run:\n\n   ```py\n   if x:\n     y\n\n  z\n   ```\n   then', 'if x:\n  y\n\nz\n'],
    ['code', '- a\n  - b\n    ```\n    x\n        ```\n    ```\n', 'x\n    ```\n'],
    ['code', '```\ndef f():\n    ```\n    doc\n```\n', 'def f():\n    ```\n    doc\n'],
    ['code', '```ls``` lists\n~~~\nfiles\n~~~', 'files\n'],
  ])('%s of %j', async (kind, content, expected) => {
    expect(await ask(completion(content), ['--extract', kind])).toMatchObject({ code: 0, stdout: expected });
  });

  it('exits with 13 and quotes the text if there is none', async () => {
    const { code, stdout, stderr } = await ask(completion('plain'), ['--extract', 'code']);
    expect({ code, stdout }).toEqual({ code: 13, stdout: '' });
    expect(stderr).toContain('the response has no code block: plain');
  });
});

describe('--attach', () => {
  const files: readonly (readonly [name: string, bytes: string, part: object])[] = [
    ['a.png', '\x89PNG\r\n\x1a\n', { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }],
    ['a.wav', 'RIFF....WAVE', { type: 'input_audio', input_audio: { data: 'UklGRi4uLi5XQVZF', format: 'wav' } }],
    ['a.txt', 'hello', { type: 'text', text: 'a.txt:\n\nhello' }],
    ['bom.txt', '\xef\xbb\xbfhello', { type: 'text', text: 'bom.txt:\n\nhello' }],
  ];

  it('adds a part per file after the prompt', async () => {
    const cwd = temporaryDirectory();
    for (const [name, bytes] of files) writeFileSync(join(cwd, name), bytes, 'latin1');
    const { bodies } = await ask(
      completion('x'),
      files.flatMap(([name]) => ['--attach', name]),
      cwd,
    );
    expect(JSON.parse(bodies[0] ?? '').messages).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'x' }, ...files.map(([, , part]) => part)] },
    ]);
  });

  it('reads stdin, which is then not a part of the prompt', async () => {
    const { stdout } = await svc(['chat', 'x', '--attach', '-', '--local', '--dry-run'], {
      stdin: Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    });
    expect(JSON.parse(stdout).messages).toMatchObject([
      { role: 'user', content: [{ type: 'text', text: 'x' }, { type: 'image_url' }] },
    ]);
    const empty = await svc(['chat', 'x', '--attach', '-', '--local', '--dry-run'], { stdin: '' });
    expect(empty).toMatchObject({ code: 2, stderr: expect.stringContaining('--attach: stdin is empty\n') });
  });

  it.each([
    ['at a terminal', 'a.txt', 'a.txt', { terminal: true }],
    ['as stdin', '-', 'stdin', { stdin: 'hello' }],
  ])('needs no prompt: %s', async (_, path, name, input) => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'a.txt'), 'hello');
    const { stdout } = await svc(['chat', '--attach', path, '--local', '--dry-run'], { cwd, ...input });
    expect(JSON.parse(stdout).messages).toEqual([
      { role: 'user', content: [{ type: 'text', text: `${name}:\n\nhello` }] },
    ]);
  });

  it.each([
    ['a directory', '.', 12],
    ['a missing file', 'missing', 12],
    ['unknown bytes', 'a.bin', 2],
  ])('sends nothing for %s', async (_, name, code) => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'a.bin'), Buffer.from([0, 255, 1]));
    expect(await ask(completion('x'), ['--attach', name], cwd)).toMatchObject({ code, bodies: [] });
  });
});

describe('the history', () => {
  const chat = (cwd: string, history: string, ...args: string[]) =>
    svc(['chat', '--local', '--no-stdin', '-q', ...args], { cwd, env: { SVC_HISTORY: history } });

  it('is off by default', async () => {
    const cwd = temporaryDirectory();
    await chat(cwd, '', 'Hi');
    expect(existsSync(join(cwd, 'data/requests.jsonl'))).toBe(false);
    expect(await svc(['log'], { cwd })).toMatchObject({ code: 0, stdout: '[]\n' });
    expect((await chat(cwd, 'sometimes', 'Hi')).code).toBe(2);
  });

  it('lists requests without bodies, readable by the owner only', async () => {
    const cwd = temporaryDirectory();
    await chat(cwd, '1', 'Secret words');
    const file = join(cwd, 'data/requests.jsonl');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, 'utf8')).not.toContain('Secret');
    const [record] = JSON.parse((await svc(['log'], { cwd })).stdout);
    expect(record).toMatchObject({
      n: 1,
      command: 'chat',
      status: 200,
      exit_code: 0,
      url: 'local',
      prompt_tokens: 4,
    });
    expect((await chat(cwd, 'on', '--continue', 'more')).code).toBe(2);
  });

  it.each([
    ['log', 'chat x'],
    ['train log', 'train --model-id 0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05 --trajectory-groups []'],
  ])('as csv, the header of %s without records begins the one with records', async (log, command) => {
    const cwd = temporaryDirectory();
    const header = async () => (await svc([...log.split(' '), '--format', 'csv'], { cwd })).stdout.split('\r\n')[0];
    const columns = await header();
    await svc([...command.split(' '), '--local', '-q'], { cwd, env: { SVC_HISTORY: '1' } });
    expect(columns).toMatch(/,/);
    expect((await header())?.startsWith(`${columns},`)).toBe(true);
  });

  it('keeps status, exit, tokens and ms at 80 columns, and names the columns that it hides', async () => {
    const cwd = temporaryDirectory();
    const id = '0199aaaa-5f3a-7c21-9b6e-2f1d7a4c8e05';
    const record = {
      ...{ time: '2026-01-30T10:00:00.000Z', command: 'chat', status: 200, exit_code: 0, ms: 12, model: 'gpt-4o-mini' },
      ...{ prompt_tokens: 3, completion_tokens: 20, ids: { response: id } },
      request: { messages: [{ role: 'user', content: 'Name three rivers' }] },
    };
    mkdirSync(join(cwd, 'data'));
    writeFileSync(join(cwd, 'data/requests.jsonl'), `${JSON.stringify(record)}\n`);
    expect((await svc(['log'], { cwd, terminal: true, columns: 80 })).stdout).toBe(
      `N  TIME                  COMMAND  STATUS  EXIT  TOKENS  MS  MODEL
1  2026-01-30T10:00:00Z  chat     200     0     3/20    12  gpt-4o-mini
hidden: TEXT, IDS (widen the terminal)
`,
    );
    expect((await svc(['log'], { cwd, terminal: true, columns: 200 })).stdout).toBe(
      `N  TIME                  COMMAND  STATUS  EXIT  TOKENS  MS  MODEL        TEXT               IDS
1  2026-01-30T10:00:00Z  chat     200     0     3/20    12  gpt-4o-mini  Name three rivers  ${id}
`,
    );
  });

  it('keeps bodies on request, which --continue continues', async () => {
    const cwd = temporaryDirectory();
    await chat(cwd, 'bodies', 'First', '--cache-salt', 'random');
    writeFileSync(join(cwd, 'data/requests.jsonl'), '{"time":"cut', { flag: 'a' });
    expect((await chat(cwd, 'off', '--continue', 'Second', '--dry-run')).stdout).toContain('"content":"First"');
    expect((await chat(cwd, 'off', '--continue', 'Second', '--n', '2')).stderr).toContain('--continue keeps one');
    expect((await chat(cwd, 'off', '--conversation', 'c.json', 'x', '--n', '2')).stderr).toContain(
      '--conversation keeps one',
    );
    await chat(cwd, 'on', 'After the crash');
    const listed = await svc(['log'], { cwd });
    expect(JSON.parse(listed.stdout)).toMatchObject([{ n: 1 }, { n: 2, command: 'chat', status: 200 }]);
    expect(listed.stderr).toBe('');
    const shown = JSON.parse((await svc(['log', 'show', '1'], { cwd })).stdout);
    expect(shown.request).toEqual({ messages: [{ role: 'user', content: 'First' }], cache_salt: '[cache_salt]' });
    expect(shown.response.choices).toHaveLength(1);
    expect((await svc(['log', 'show', shown.ids.response], { cwd })).stdout).toContain(shown.ids.response);
    for (const unknown of ['3', '0', 'x', ''])
      expect(await svc(['log', 'show', unknown], { cwd })).toMatchObject({
        code: 2,
        stderr: `svc: the history has no record ${JSON.stringify(unknown)}; it has 2\n  for numbers and ids, run: svc log\n`,
      });
    const cleared = await svc(['log', 'clear', '--yes', '--json'], { cwd });
    expect(JSON.parse(cleared.stdout)).toMatchObject({ removed: 2, removed_prompts: 0 });
    expect((await svc(['log'], { cwd })).stdout).toBe('[]\n');
  });
});
