import { spawnSync } from 'node:child_process';
import { chmodSync, closeSync, copyFileSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { cleanEnv, program, run, start, waitForExit } from '../support/process.ts';
import { rawServer } from '../support/raw-server.ts';
import { callStart, credentials, svc, temporaryDirectory } from '../support/svc.ts';

function shell(line: string, env: Readonly<Record<string, string>> = {}, cwd = temporaryDirectory()) {
  const script = line.replaceAll('svc ', `"${process.execPath}" "${program}" `);
  const { status, stdout, stderr } = spawnSync('bash', ['-c', script], {
    cwd,
    env: cleanEnv(cwd, env),
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

describe('the process', () => {
  it.each([
    [['--version'], 0],
    [['--help'], 0],
    [[], 0],
    [['feedback'], 0],
    [['help', 'exit-codes'], 0],
    [['help', 'nothing'], 2],
    [['nothing'], 2],
    [['chat', '--nothing'], 2],
    [['chat', 'x'], 2],
    [['chat', 'x', '--profile', 'none'], 2],
    [['chat', 'x', '--base-url', 'svc.test'], 2],
    [['chat', 'x', '--base-url', 'https://u:p@svc.test'], 2],
    [['chat', 'x', '--base-url', 'https://svc.test?x=1'], 2],
    [['chat', 'x', '--local', '--base-url', 'https://svc.test'], 2],
    [['chat', 'x', '--local', '--timeout', 'soon'], 2],
    [['chat', 'x', '--local', '--dry-run', '--curl'], 2],
    [['chat', 'x', '--local', '--json', '--format', 'text'], 2],
    [['chat', '-f', 'none.json', '--local'], 12],
    [['chat', 'x', '--local', '-o', 'no/such/directory/x'], 12],
    [['chat', 'x', '--base-url', 'http://svc.test'], 13],
  ])('svc %j ends with %i', async (args, code) => {
    const result = await run(args, { env: code === 13 ? credentials : {} });
    expect(result.code, result.stderr).toBe(code);
    if (code === 0) expect(result.stderr).toBe('');
    else expect(result.stderr).toMatch(/^svc: [^\n]+\n( {2}[^\n]+\n)*$/);
    if (code !== 0) expect(result.stdout).toBe('');
  });

  it.each([['--version'], ['chat', 'hi', '--local']])('%s without a build says how to build', (...args) => {
    const bin = join(temporaryDirectory(), 'bin');
    mkdirSync(bin);
    copyFileSync(program, join(bin, 'svc.js'));
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(bin, 'svc.js'), ...args], {
      encoding: 'utf8',
    });
    expect({ status, stdout, stderr }).toEqual({
      status: 12,
      stdout: '',
      stderr: `svc: ${join(bin, '../dist')} does not exist\nhint: run npm run build\n`,
    });
  });

  it('runs in a shell, in pipes and in loops as tools do', () => {
    const env = { SVC_PROFILE: 'local' };
    expect(
      shell(`printf '{"start":{"project_id":"a/b","op_name":"x"}}' | svc call start | grep -c trace_id`, env),
    ).toMatchObject({ status: 0, stdout: '1\n' });
    const loop = `printf 'one\\ntwo\\n' | while read -r line; do svc chat --no-stdin -q "$line" | head -n 1; done`;
    expect(shell(loop, env).stdout).toBe(
      ['one', 'two']
        .map((word) => `You said "${word}": 1 word. This is svc's built-in model; it is for tests, not a real one.\n`)
        .join(''),
    );
    const flags = `printf 'one\\ntwo\\n' | while read -r line; do svc call start --project-id a/b --op-name "$line" --id 0123456789abcdef >/dev/null; echo "$line"; done`;
    expect(shell(flags, env).stdout).toBe('one\ntwo\n');
  });

  it('a reader that closes the pipe causes neither a failure nor output', () => {
    const result = shell('set -o pipefail; svc spec --openapi | head -c 10 >/dev/null; echo "${PIPESTATUS[0]}"');
    expect(result).toMatchObject({ stdout: '0\n', stderr: '' });
  });

  it('a full disk is exit 12, whatever is written', () => {
    expect(shell('svc spec chat >/dev/full')).toMatchObject({
      status: 12,
      stderr: expect.stringContaining('cannot write stdout'),
    });
    expect(shell('svc chat hi --local -o /dev/full').status).toBe(12);
  });

  it('closed stdin, stdout and stderr change nothing', () => {
    const env = { SVC_PROFILE: 'local' };
    expect(shell('svc chat hi --no-stdin -q <&-', env).status).toBe(0);
    expect(shell('svc chat hi -q <&-', env).status).toBe(0);
    expect(shell('svc chat --bad 2>&-', env).status).toBe(2);
    expect([0, 12]).toContain(shell('svc chat hi --no-stdin >&-', env).status);
  });

  it('a home that is missing or read-only matters only where something is stored', () => {
    expect(shell('unset HOME; svc chat hi --dry-run --no-stdin').status).toBe(0);
    expect(shell('HOME=/nowhere SVC_CONFIG_DIR= svc chat hi --dry-run --no-stdin').status).toBe(0);
    expect(shell('HOME= SVC_CONFIG_DIR= svc profile list; ls -A').stdout).toMatch(/^\[.*\{"name":"local",[^}]*\}\]\n$/);
    const stored = shell('SVC_CONFIG_DIR=/dev/null/x svc profile set p --base-url https://svc.test');
    expect(stored).toMatchObject({
      status: 12,
      stderr: expect.stringMatching(/^svc: cannot write \/dev\/null\/x\/config\.json: /),
    });
  });

  it('stdin that stays silent is reported after 2 s, and waited for', async () => {
    const child = start(['call', 'start', '--local']);
    const result = waitForExit(child);
    child.stderr?.once('data', () => child.stdin?.end('{"start":{"project_id":"a/b","op_name":"x"}}'));
    expect(await result).toMatchObject({
      code: 0,
      stderr: 'svc: waiting on stdin for a JSON body; nothing has arrived for 2 s; if there is none, add --no-stdin\n',
    });
  });

  it.each([
    ['SIGINT', 130, 'interrupted'],
    ['SIGTERM', 143, 'terminated'],
  ] as const)(
    '%s while waiting for a response ends with %i and reports the known outcome',
    async (signal, code, name) => {
      const server = await rawServer(() => child.kill(signal));
      const id = '0123456789abcdef';
      const child = start([...callStart, '--id', id, '--error-format', 'json'], {
        env: { ...credentials, SVC_BASE_URL: server.url },
      });
      const result = await waitForExit(child);
      expect(result.code).toBe(code);
      const { error } = JSON.parse(result.stderr.trim().split('\n').at(-1) ?? '');
      expect(error).toMatchObject({ code: name, exit_code: code, applied: 'unknown', ids: { call: id } });
      expect(error.hint).toContain('same ids');
    },
  );

  it('SIGINT while stdin is read ends at once: nothing was sent', async () => {
    const child = start(['call', 'start', '--local']);
    const result = waitForExit(child);
    child.stderr?.once('data', () => child.kill('SIGINT'));
    expect(await result).toMatchObject({ code: 130, stderr: expect.stringContaining('interrupted; nothing was sent') });
  });
});

describe('an argument that is not valid UTF-8', () => {
  it.skipIf(process.platform !== 'linux')('is exit 2 by the bytes of the command line', () => {
    const result = shell(`svc chat $'caf\\xe9' --local --no-stdin`);
    expect(result).toMatchObject({ status: 2, stdout: '' });
    expect(result.stderr).toContain('argument 2 is not valid UTF-8: "caf\uFFFD"');
    expect(shell(`svc chat hi --local --no-stdin -o $'\\xff'; ls`)).toMatchObject({ stdout: '' });
    expect(shell(`svc chat $'\\xef\\xbf\\xbd' --local --no-stdin -q`).status).toBe(0);
  });

  it('is a warning where the bytes are unknown', async () => {
    const { code, stderr } = await svc(['chat', 'caf\uFFFD', '--no-stdin', '--dry-run']);
    expect(code).toBe(0);
    expect(stderr).toContain('argument 2 contains U+FFFD; it may not have been valid UTF-8');
  });
});

it('a word after train is a command unless a file has its name, and ./lint is a file', async () => {
  const cwd = temporaryDirectory();
  const trainOn = (file: string) => run(['train', file, '--local', '--dry-run'], { cwd });
  expect(await trainOn('lst')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('write one of: svc train lint, svc train log'),
  });
  writeFileSync(join(cwd, 'lst'), '[]');
  writeFileSync(join(cwd, 'lint'), '[]');
  for (const file of ['lst', './lint']) expect((await trainOn(file)).stderr).toContain('--model-id: is required');
});

it('svc auth status and svc profile show print the same view; doctor lists what is not set only with --all', async () => {
  const cwd = temporaryDirectory();
  await svc(['profile', 'set', 'work', '--base-url', 'https://svc.test', '--model', 'm'], { cwd, stdin: '' });
  const shown = await svc(['profile', 'show', 'work'], { cwd, env: credentials, stdin: '' });
  expect(await svc(['auth', 'status', '--profile', 'work'], { cwd, env: credentials, stdin: '' })).toEqual(shown);
  expect(JSON.parse(shown.stdout)).toMatchObject({ profile: 'work', model: 'm', credentials: [{}, {}] });
  const rows = async (...flags: string[]): Promise<string> =>
    (await svc(['doctor', '--profile', 'local', '--format', 'text', ...flags], { cwd, stdin: '' })).stdout;
  expect(await rows()).not.toContain('not set');
  expect(await rows('--all')).toMatch(/project_id +- +not set/);
});

it('a word such as yes after a boolean flag is text only after --', async () => {
  for (const word of ['yes', 'no', 'true', 'False', 'on', 'off', '0', '1'])
    expect(await svc(['chat', '--dry-run', '--logprobs', word, 'hi'], { stdin: '' })).toMatchObject({
      code: 2,
      stdout: '',
    });
  const { stdout } = await run(['chat', '--dry-run', '--logprobs', '--', 'yes', 'hi']);
  expect(JSON.parse(stdout)).toEqual({ messages: [{ role: 'user', content: 'yes hi' }], logprobs: true });
});

describe('-o', () => {
  it('replaces a file only when the result is complete, and keeps the partial output of a cut stream', async () => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'out.txt'), 'old');
    chmodSync(join(cwd, 'out.txt'), 0o640);
    const event = 'data: {"choices":[{"index":0,"delta":{"content":"half"},"finish_reason":null}]}\n\n';
    const cut = `HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n${event.length.toString(16)}\r\n${event}\r\n`;
    const bad = await rawServer((socket) => socket.end(cut));
    const lost = await run(['chat', 'x', '--stream', '-o', 'out.txt'], {
      cwd,
      env: { ...credentials, SVC_BASE_URL: bad.url },
    });
    expect(lost.code).toBe(11);
    expect(lost.stderr).toBe(
      `svc: the partial output is in out.txt.partial\nsvc: the stream from ${bad.url} was cut: the server closed the connection\n  the request was applied\n  if you run it again, you may be charged twice\n`,
    );
    expect(readFileSync(join(cwd, 'out.txt'), 'utf8')).toBe('old');
    expect(readFileSync(join(cwd, 'out.txt.partial'), 'utf8')).toBe('half\n');
    const done = await run(['chat', 'x', '--local', '-q', '-o', 'out.txt'], { cwd });
    expect({ code: done.code, stdout: done.stdout }).toEqual({ code: 0, stdout: '' });
    expect(readFileSync(join(cwd, 'out.txt'), 'utf8')).toMatch(/^You said "x"/);
    expect(
      shell('ls -a', {}, cwd)
        .stdout.split('\n')
        .filter((name) => name.includes('tmp')),
    ).toEqual([]);
  });

  it('- is stdout, and a pipe is written through', () => {
    expect(shell('svc chat hi --local -q --no-stdin -o -').stdout).toMatch(/^You said "hi"/);
    expect(shell('svc chat hi --local -q --no-stdin -o /dev/stdout | cat').stdout).toMatch(/^You said "hi"/);
  });

  it.each([
    ['/dev/stdout', 'code 0\n'],
    ['/dev/fd/1', 'svc: cannot write /dev/fd/1: the reader closed the pipe\n.*code 12\n'],
  ])('%s of a pipe that its reader closed', (output, message) => {
    const run = `until [ -e closed ]; do :; done; svc chat hi --local -q --no-stdin -o ${output}; echo code $? >&2`;
    const { stderr } = shell(`{ ${run}; } | { exec <&-; touch closed; }`, {}, temporaryDirectory());
    expect(stderr).toMatch(new RegExp(`^${message}$`, 's'));
  });

  it.each([
    ['/dev/stdout', '> log'],
    ['/dev/stdout', '>> log'],
    ['/dev/stderr', '2> log >&2'],
    ['/dev/fd/3', '> log 3>&1'],
  ])('%s of a shell with %s keeps the other output', (output, redirects) => {
    const line = `{ echo before; svc chat hi --local -q --no-stdin -o ${output}; echo after; } ${redirects}; cat log`;
    expect(shell(line, {}, temporaryDirectory()).stdout).toMatch(/^before\nYou said .*\nafter\n$/);
  });
});

it.each(['/dev/stdout', '/dev/fd/1'])('a batch and a merge write to the file behind %s', (output) => {
  const cwd = temporaryDirectory();
  writeFileSync(join(cwd, 'in'), '{"messages":[{"role":"user","content":"a"}]}\n');
  const line = [
    `svc chat --local -q --batch in -o ${output} >> first`,
    `svc chat --local -q --batch in -o ${output} >> first`,
    'svc chat --local -q --batch in -o second',
    `svc batch merge -q second -o ${output} >> first`,
    'wc -l first; ls first* second*',
  ].join(' && ');
  expect(shell(line, {}, cwd)).toMatchObject({
    stderr: '',
    stdout: expect.stringMatching(/^ *3 first\nfirst\nsecond\nsecond.journal\n$/),
  });
});

describe('an older Node', () => {
  it('gets one line that says what is needed', () => {
    // The same file, read by a Node that says it is older.
    const source = readFileSync(program, 'utf8').replace(/^#!.*\n/, '');
    const fake = `Object.defineProperty(process.versions, 'node', { value: '18.20.0' });\n${source}`;
    const cwd = temporaryDirectory();
    mkdirSync(join(cwd, 'bin'));
    closeSync(openSync(join(cwd, 'package.json'), 'w'));
    writeFileSync(join(cwd, 'package.json'), '{"type":"module"}');
    writeFileSync(join(cwd, 'bin', 'svc.js'), fake);
    const { status, stderr } = spawnSync(process.execPath, [join(cwd, 'bin', 'svc.js')], { encoding: 'utf8' });
    expect({ status, stderr }).toEqual({ status: 2, stderr: 'svc: needs Node 20.18.1 or later; this is 18.20.0\n' });
  });
});
