import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runBuilt } from '../support/built.ts';
import { inShell, start, waitForExit } from '../support/process.ts';
import { httpAnswer, rawServer } from '../support/raw-server.ts';
import { callStart, temporaryDirectory } from '../support/svc.ts';

const response = '{"id":"i","trace_id":"t","n":9007199254740993,"f":1.0}';
const account = { SVC_USERNAME: 'api', SVC_PASSWORD: 'pass-word-1', SVC_TOKEN: 'tok-en-1' };

describe('--jq', () => {
  it('filters the result of an operation with every digit, and prints strings raw', async () => {
    const server = await rawServer((socket) => socket.end(httpAnswer(response)));
    const { code, stdout } = await runBuilt([...callStart, '--jq', '.n, .f, .id'], {
      env: { ...account, SVC_BASE_URL: server.url },
    });
    expect({ code, stdout }).toEqual({ code: 0, stdout: '9007199254740993\n1.0\ni\n' });
  });

  it.each(['env', '$ENV'])('has no environment: %s', async (filter) => {
    expect(await runBuilt(['help', '--jq', filter])).toMatchObject({ code: 0, stdout: '{}\n' });
  });

  it('out of memory prints only its error', async () => {
    const { code, stderr } = await runBuilt(['help', '--jq', 'def f: [f]; f', '--error-format', 'json']);
    expect(code).toBe(11);
    expect(JSON.parse(stderr).error.message).toMatch(/^--jq: the filter or its input is too large or too deep/);
  });

  it('filters the help as JSON, also without --json', async () => {
    const first = await runBuilt(['help', '--jq', '.commands[0].command']);
    expect(first).toMatchObject({ code: 0, stdout: 'svc feedback replace\n' });
    expect(await runBuilt(['help', '--json', '--jq', '.name'])).toMatchObject({ code: 0, stdout: 'svc\n' });
    expect(await runBuilt(['help', '--jq', '.['])).toMatchObject({ code: 2, stdout: '' });
  });

  it('is compiled before anything is sent, and its error at run time says that the request was applied', async () => {
    let requests = 0;
    const server = await rawServer((socket) => {
      requests += 1;
      socket.end(httpAnswer(response));
    });
    const env = { ...account, SVC_BASE_URL: server.url };
    expect(await runBuilt([...callStart, '--jq', '.n |'], { env })).toMatchObject({ code: 2, stdout: '' });
    expect(requests).toBe(0);
    const failed = await runBuilt([...callStart, '--jq', '.id, (.n | keys)', '--error-format', 'json'], { env });
    expect(failed).toMatchObject({ code: 11, stdout: `i\n${response}\n` });
    expect(JSON.parse(failed.stderr).error).toMatchObject({
      applied: 'yes',
      message: expect.stringMatching(/has no keys/),
    });
  });

  it.each(['--no-stdin', '--stream'])(
    'prints the whole response of a chat after the results if it fails: %s',
    async (flag) => {
      const cwd = temporaryDirectory();
      const args = ['chat', 'hi', '--local', '--jq', '.id | length > 0, tonumber', flag];
      const printed = await runBuilt(args, { cwd });
      const [result, whole = ''] = printed.stdout.split(/(?<=\n)/);
      expect({ code: printed.code, result }).toEqual({ code: 11, result: 'true\n' });
      expect(JSON.parse(whole).choices[0].message.content).toContain('You said "hi"');
      const saved = await runBuilt([...args, '-o', 'out.json'], { cwd });
      expect(saved).toMatchObject({ code: 11, stdout: '', stderr: expect.stringContaining('is in out.json.partial') });
      expect(readFileSync(join(cwd, 'out.json.partial'), 'utf8')).toContain(String.raw`You said \"hi\"`);
      expect(existsSync(join(cwd, 'out.json'))).toBe(false);
    },
  );

  const replace =
    'feedback replace --local --project-id a/b --feedback-id f --feedback-type x --svc-ref svc:///a/b/object/o:1 --payload {}';

  it.each([
    ['feedback replace', replace],
    ['call start', 'call start --local --project-id a/b --op-name x'],
  ])('prints the response of %s, with its id, if it fails', async (_, line) => {
    const { code, stdout, stderr } = await runBuilt([...line.split(' '), '--jq', 'error("x")']);
    expect(code, stderr).toBe(11);
    expect(stderr).toContain('--jq: x');
    expect(JSON.parse(stdout).id).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('prints only its error for a request that reads', async () => {
    const args = ['feedback', 'schema', '--local', '--project-id', 'a/b', '--since', '7d', '--jq', 'error("x")'];
    expect(await runBuilt(args)).toMatchObject({ code: 11, stdout: '' });
  });

  it('continues with the next chunk of a stream if it fails, and prints the chunk', async () => {
    const filter = 'if .choices[0].finish_reason then "end" else error("x") end';
    const { code, stdout, stderr } = await runBuilt(['chat', 'hi', '--local', '--format', 'jsonl', '--jq', filter]);
    expect(code, stderr).toBe(11);
    expect(stderr).toContain('--jq: x');
    expect(stdout).toMatch(/^\{"id".*\n(.*\n)*end\n/);
  });

  it.each(['--json', '--format jsonl'])(
    'with %s: its error counts also where the reader closed the pipe',
    async (flag) => {
      const line = `svc chat hi --local --no-stdin ${flag} --jq '1, error("x")' | true; exit "\${PIPESTATUS[0]}"`;
      expect(await inShell(line)).toMatchObject({ code: 11, stderr: expect.stringContaining('--jq: x') });
    },
  );

  it.each([
    [
      '--jq',
      '.',
      '"c\\ud83d\\ud83d\\ude00"',
      '--jq prints U+FFFD for half of a surrogate pair in "c\\ud83d\\ud83d\\ude00"',
    ],
    ['--jq', '.', '"\\udc00"', '--jq prints U+FFFD for half of a surrogate pair in "\\udc00"'],
    ['--jq', '.', '[1e1000000000]', '--jq may print another number for 1e1000000000'],
    ['--jq', '.', '[-1.5e-99999999999999999999]', '--jq may print another number for -1.5e-99999999999999999999'],
    ['--format', 'yaml', '["\\uDEAD"]', '--format yaml prints U+FFFD for half of a surrogate pair in "\\uDEAD"'],
    ['--format', 'yaml', '{"\\ud800":1}', '--format yaml prints U+FFFD for half of a surrogate pair in "\\ud800"'],
    ['--jq', '.', '["\\ud83d\\ude00 \\\\ud83d 1e1000000000", 9e999999999, 1e-999999999, 0e9999999999]', undefined],
    ['--format', 'yaml', '["\\ud83d\\ude00 \\\\ud83d", 1e1000000000]', undefined],
  ])('and yaml warn of values that they change: %s %s of %s', async (flag, value, json, warning) => {
    const server = await rawServer((socket) => socket.end(httpAnswer(`{"paths":[],"x":${json}}`)));
    const { code, stderr } = await runBuilt(
      ['feedback', 'schema', '--project-id', 'a/b', '--since', '1d', flag, value],
      {
        env: { ...account, SVC_BASE_URL: server.url },
      },
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: warning === undefined ? '' : `svc: warning: ${warning}\n` });
  });

  it('warns once about the lines of a batch', async () => {
    const stdin = '{"messages":[{"role":"user","content":"a\\ud800"}]}\n'.repeat(40);
    const args = ['chat', '--local', '--batch', '-', '--jq', '.line, .reply.choices[0].message.role'];
    const { code, stdout, stderr } = await runBuilt(args, { stdin });
    expect(code, stderr).toBe(0);
    expect(stdout.split('\n')).toHaveLength(81);
    expect(stderr.match(/half of a surrogate pair in /g)).toHaveLength(1);
  });

  it.each([
    [['profile', 'list'], '.[].name', 'local\n'],
    [['profile', 'show', 'local'], '.profile', 'local\n'],
    [['auth', 'status', '--profile', 'local'], '.credentials | length', '0\n'],
    [['train', 'log'], 'length', '0\n'],
    [['doctor', '--local'], '.settings[0].name', 'profile\n'],
    [['spec', 'call', 'start'], '.properties | keys[]', 'start\n'],
    [['train', 'lint', 'groups.json'], '.groups', '1\n'],
    [['batch', 'merge', 'results.jsonl'], '.line', '1\n2\n'],
    [['feedback', 'schema', '--local', '--project-id', 'a/b', '--since', '1d'], '.paths', '[]\n'],
    [['chat', '--local', '--batch', 'lines.jsonl', '--ordered'], '[.line, .exit_code]', '[1,0]\n[2,0]\n'],
    [['chat', '--local', '--batch', 'lines.jsonl', '--dry-run'], undefined, /"lines":2/],
    [['chat', 'hi', '--local', '--stream'], '.choices[0].finish_reason', 'stop\n'],
    [['chat', 'hi', '--local', '--format', 'jsonl'], '.choices[]?.finish_reason // empty', 'stop\n'],
  ] as const)('works with svc %j', async (args, filter, expected) => {
    const cwd = temporaryDirectory();
    const entry = (line: number) =>
      `{"line":${line},"id":null,"status":200,"exit_code":0,"applied":"yes","response":{},"attempts":1,"ms":1,"checkpoint":{"input":"0123456789abcde${line}","run":"01a1fd65-c7c7-7d58-a39c-000000000000","operation":"/v1/chat/completions","shard":"1/1"}}\n`;
    writeFileSync(join(cwd, 'groups.json'), '[{"trajectories":[{"messages":[],"reward":1}]}]');
    writeFileSync(join(cwd, 'results.jsonl'), entry(1) + entry(2));
    writeFileSync(join(cwd, 'lines.jsonl'), '{"messages":[{"role":"user","content":"a"}]}\n'.repeat(2));
    const { code, stdout, stderr } = await runBuilt([...args, ...(filter ? ['--jq', filter] : [])], { cwd });
    expect({ code, stdout }, stderr).toEqual({
      code: 0,
      stdout: typeof expected === 'string' ? expected : expect.stringMatching(expected),
    });
  });

  it.each([
    ['a batch', ['chat', '--local', '--batch', 'lines.jsonl', '--ordered'], 'yes'],
    ['a merge', ['batch', 'merge', 'results.jsonl'], 'no'],
  ])('fails with any line of %s, whichever lines share a run of jq', async (_, args, applied) => {
    const cwd = temporaryDirectory();
    const entry = (line: number) =>
      `{"line":${line},"id":null,"status":200,"exit_code":0,"applied":"yes","response":{},"attempts":1,"ms":1,"checkpoint":{"input":"0123456789abcde${line}","run":"01a1fd65-c7c7-7d58-a39c-000000000000","operation":"/v1/chat/completions","shard":"1/1"}}\n`;
    writeFileSync(join(cwd, 'results.jsonl'), [1, 2, 3, 4].map(entry).join(''));
    writeFileSync(join(cwd, 'lines.jsonl'), '{"messages":[{"role":"user","content":"a"}]}\n'.repeat(4));
    const filter = 'if .line==3 then "three", error("boom") else .line end';
    const { code, stdout, stderr } = await runBuilt([...args, '--jq', filter, '--error-format', 'json'], { cwd });
    expect({ code, stdout }).toEqual({ code: 11, stdout: '1\n2\nthree\n4\n' });
    expect(JSON.parse(stderr.trim().split('\n').at(-1) ?? '').error).toMatchObject({
      applied,
      message: '--jq: boom (line 3)',
    });
  });

  it('says that nothing was sent if it fails on a line that is invalid', async () => {
    const line = { stdin: '{"messages":[{"role":"user","content":"a"}]}\n{}\n' };
    const args = ['chat', '--local', '--batch', '-', '--ordered', '--jq', '.response | keys[0]'];
    const text = await runBuilt(args, line);
    expect({ code: text.code, stdout: text.stdout }).toEqual({ code: 11, stdout: 'choices\n' });
    expect(text.stderr).toMatch(
      /\nsvc: --jq: null \(null\) has no keys \(line 2\)\n {2}to see what the filter reads, write --jq \. instead\n$/,
    );
    const { stderr } = await runBuilt([...args, '--error-format', 'json'], line);
    expect(JSON.parse(stderr.trim().split('\n').at(-1) ?? '').error).toMatchObject({ applied: 'no', attempts: 0 });
  });

  it('keeps the summary of a batch when it fails', async () => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'lines.jsonl'), '{"messages":[{"role":"user","content":"a"}]}\n{}\n');
    const { code, stderr } = await runBuilt(['chat', '--local', '--batch', 'lines.jsonl', '--jq', 'error("boom")'], {
      cwd,
    });
    expect(code).toBe(11);
    expect(stderr).toMatch(
      /\(line 2\)\nsvc: tokens: \d+ in, \d+ out\nsvc: finish reasons: stop 1\nsvc: 2 lines: 1 done, 1 failed, .*\nsvc: --jq: boom \(line \d\)\n/,
    );
  });

  it.each([
    ['another format', ['--format', 'yaml'], /--jq cannot be combined with --format yaml/],
    ['--dry-run', ['--dry-run'], /--jq cannot be combined with --/],
    ['--extract', ['--extract', 'json'], /with --jq\n {2}filter the block outside of svc: .* --extract json \| jq/],
    ['a checkpoint', ['--batch', 'lines.jsonl', '-o', 'out.jsonl'], /the output of the batch/],
  ])('with %s is exit 2', async (_, flags, message) => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'lines.jsonl'), '{}\n');
    const prompt = flags[0] === '--batch' ? [] : ['hi'];
    const { code, stdout, stderr } = await runBuilt(['chat', ...prompt, '--local', '--jq', '.', ...flags], { cwd });
    expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: '', stderr: expect.stringMatching(message) });
  });

  it('with a join is exit 2, and the message says where filters of columns are', async () => {
    const { code, stderr } = await runBuilt(['batch', 'merge', 'a.jsonl', '--join', 'rows.csv', '--jq', '.line']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('--join <file> --columns <name>=<filter>')]);
  });

  it.each([
    ['"a"*3e8|length', 2],
    ['"a"*1e9', 2],
    ['"\\("x"*1e8)\\("y"*1e8)"', 11],
    ['.name*2e8', 11],
    ['[range(1e9)]', 11],
    ['def f: f+1; f', 11],
    ['[] | .[536870911]=1', 11],
    ['"[" * 100000 | fromjson', 11],
  ])('that exceeds the memory, the stack or the length of a string is invalid or fails: %s', async (filter, code) => {
    const result = await runBuilt(['help', '--jq', filter]);
    expect(result).toMatchObject({ code, stdout: '', stderr: expect.stringMatching(/^svc: --jq: .+\n/) });
  });

  it.each(['def f: f; f', 'last(repeat(1))'])(
    'ends at --timeout, and prints the whole response: %s',
    async (filter) => {
      const { code, stdout, stderr } = await runBuilt([
        'chat',
        'hi',
        '--local',
        '--timeout',
        '2',
        '--no-stdin',
        '--jq',
        filter,
      ]);
      expect(code, stderr).toBe(11);
      expect(stderr).toMatch(/^svc: --jq: the filter was still running after \d+\.\d s\n/);
      expect(stderr).toContain('the request was applied');
      expect(JSON.parse(stdout).choices[0].message.content).toContain('You said "hi"');
    },
  );

  it('that runs forever on a line of a batch ends once, and prints the lines from then on as they are', async () => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'lines.jsonl'), '{"messages":[{"role":"user","content":"a"}]}\n'.repeat(20));
    const filter = 'if .line == 12 then def f: f; f else .line end';
    const args = ['chat', '--local', '--batch', 'lines.jsonl', '--ordered', '--timeout', '2', '--jq', filter];
    const { code, stdout, stderr } = await runBuilt(args, { cwd });
    expect(code, stderr).toBe(11);
    expect(stderr.match(/the filter was still running/g)).toHaveLength(1);
    const lines = stdout
      .trim()
      .split('\n')
      .map((text) => JSON.parse(text));
    expect(lines.map((line) => line.line ?? line)).toEqual(Array.from({ length: 20 }, (_, at) => at + 1));
    expect(lines[11].response.choices[0].message.content).toContain('You said "a"');
  });

  it('that a signal ends leaves the whole response', async () => {
    const child = start(['chat', 'hi', '--local', '-v', '--jq', '"begun" | debug | def f: f; f']);
    child.stdin?.end();
    const ended = waitForExit(child);
    let interrupt: NodeJS.Timeout | undefined;
    // Before the response, the signal would end the request.
    child.stderr?.on('data', (piece) => {
      if (String(piece).includes('X-Request-Id')) interrupt ??= setInterval(() => child.kill('SIGINT'), 1000);
    });
    const { signal, stdout, stderr } = await ended;
    clearInterval(interrupt);
    expect(signal).toBe('SIGINT');
    expect(stderr).toContain('the request was applied');
    expect(JSON.parse(stdout).choices[0].message.content).toContain('You said "hi"');
  });

  it('ends at once by a signal, also while a filter runs forever', async () => {
    const child = start(['profile', 'list', '--jq', '"begun" | debug | def f: f; f', '-v']);
    const ended = waitForExit(child);
    const interrupt = setInterval(() => child.kill('SIGINT'), 500);
    expect(await ended).toMatchObject({ signal: 'SIGINT' });
    clearInterval(interrupt);
  });
});
