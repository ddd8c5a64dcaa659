import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { answerJson, countingServer } from '../support/counting-server.ts';
import { cleanEnv, firstLine, inShell, program, run, serve, start, waitForExit } from '../support/process.ts';
import { noStrace, withFault } from '../support/strace.ts';
import { temporaryDirectory } from '../support/svc.ts';

const peers = new URL('../peers/', import.meta.url);
const hasOpenTelemetry = existsSync(new URL('node_modules/@opentelemetry/sdk-trace-node', peers));
if (!hasOpenTelemetry)
  process.stderr.write("skipped: OpenTelemetry's SDK; install it with: npm ci --prefix test/peers\n");

const project = ['--project-id', 'acme/support-bot'];
const login = { SVC_USERNAME: 'ada', SVC_PASSWORD: 'pass-word-1' };

/** Runs a command as a traced call in the local service of an empty home. */
function callRun(
  command: readonly string[],
  flags: readonly string[] = ['--local'],
  setting: Parameters<typeof run>[1] = {},
) {
  return run(['call', 'run', ...project, ...flags, '--', ...command], setting);
}

function logged(cwd: string): Record<string, unknown>[] {
  return readFileSync(join(cwd, 'calls.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

describe('the exit code of call run', () => {
  it('is that of the command, in a shell', async () => {
    const { stdout } = await inShell(
      'for code in 0 7 127 130 255; do svc call run --project-id a/b --spool=only --local -- sh -c "exit $code"; echo "$code $?"; done',
    );
    const codes = stdout
      .trim()
      .split('\n')
      .map((line) => line.split(' '));
    expect(codes).toHaveLength(5);
    for (const [expected, code] of codes) expect(code).toBe(expected);
  });

  it.each([
    ['TERM', 143],
    ['KILL', 137],
    ['INT', 130],
    ['HUP', 129],
    ['USR1', 138],
    ['USR2', 140],
  ])('is the signal where SIG%s ends the command', async (name, expected) => {
    const { signal, code } = await callRun(['sh', '-c', `kill -${name} $$`], ['--local', '--spool=only']);
    expect([signal, code]).toEqual([`SIG${name}`, expected]);
  });

  it.each([
    ['PIPE', 141],
    ['QUIT', 131],
    ['ABRT', 134],
    ['SEGV', 139],
  ])('is %s as 128+n, without a core file of svc', async (name, expected) => {
    const cwd = temporaryDirectory();
    const { code } = await callRun(['sh', '-c', `ulimit -c 0; kill -${name} $$`], ['--local', '--spool=only'], { cwd });
    expect(code).toBe(expected);
    expect(readdirSync(cwd).filter((file) => file.startsWith('core'))).toEqual([]);
  });

  it('is 127 for a command that does not exist and 126 for one that cannot be run', async () => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'plain'), 'text', { mode: 0o644 });
    const missing = await callRun(['no-such-command-1'], ['--local', '--spool=only'], { cwd });
    expect([missing.code, missing.stderr]).toEqual([
      127,
      'svc: warning: could not run no-such-command-1: command not found\n',
    ]);
    const empty = await callRun(['', 'x'], ['--local', '--spool=only'], { cwd });
    expect([empty.code, empty.stderr]).toEqual([127, 'svc: warning: could not run "": command not found\n']);
    expect((await callRun([join(cwd, 'plain')], ['--local', '--spool=only'], { cwd })).code).toBe(126);
  });

  it('is 2 for a wrong command line, and nothing runs', async () => {
    const cwd = temporaryDirectory();
    const without = await run(['call', 'run', '--local'], { cwd });
    expect([without.code, without.stderr]).toEqual([2, expect.stringContaining('svc call run --local -- make test')]);
    const wrong = await callRun(['touch', 'ran'], ['--local', '--spool=all'], { cwd });
    expect(wrong.code).toBe(2);
    expect(readdirSync(cwd)).not.toContain('ran');
  });
});

describe.skipIf(!hasOpenTelemetry)('an OpenTelemetry SDK in the command', () => {
  it('makes spans that are children of the call', async () => {
    const cwd = temporaryDirectory();
    const { stdout } = await callRun(
      [process.execPath, new URL('span.js', peers).pathname],
      ['--local', '--spool=only', '--log-file', 'calls.jsonl'],
      { cwd, env: { TRACESTATE: 'vendor=1' } },
    );
    const [call] = logged(cwd);
    expect(JSON.parse(stdout)).toEqual({
      traceId: call?.trace_id,
      parentId: call?.id,
      spanId: expect.any(String),
      state: 'vendor=1',
    });
  });
});

describe('a service that is down', () => {
  it('is one line on stderr, and the command is not affected', async () => {
    const { code, stdout, stderr } = await callRun(
      ['sh', '-c', 'echo out; exit 7'],
      ['--base-url', 'http://127.0.0.1:9', '--retries', '0'],
      {
        env: { SVC_USERNAME: 'u', SVC_PASSWORD: 'pass-word' },
      },
    );
    expect([code, stdout]).toEqual([7, 'out\n']);
    expect(stderr.trim().split('\n')).toHaveLength(1);
    expect(stderr).toMatch(
      /^svc: warning: the call was not recorded: .*\(connection refused\); check --base-url, or run: svc doctor/,
    );
  });

  it('says why the service rejected the call', async () => {
    const detail = [{ loc: ['body', 'start', 'op_name'], msg: 'no such operation', type: 'value_error' }];
    const { url } = await countingServer(String, (_, response) => answerJson(response, { detail }, 422));
    const { code, stderr } = await callRun(['true'], ['--base-url', url], { env: login });
    expect(code).toBe(0);
    expect(stderr).toContain('returned 422 Unprocessable Entity: start.op_name: no such operation');
  });

  it('does not accept every response as a record', async () => {
    const { url } = await countingServer(String, (_, response) => response.end('<html>log in</html>'));
    const { code, stderr } = await callRun(['true'], ['--base-url', url], { env: login });
    expect(code).toBe(0);
    expect(stderr).toMatch(/^svc: warning: the call may not have been recorded: \S+ returned an HTML page: a proxy/);
  });

  it('says that the call is kept in the spool', async () => {
    const flags = ['--base-url', 'http://127.0.0.1:9', '--retries', '0', '--spool'];
    const { code, stderr } = await callRun(['sh', '-c', 'exit 7'], flags, { env: login });
    expect(code).toBe(7);
    expect(stderr).toContain(
      '; it stays in the spool; to send it, run: svc call flush --base-url http://127.0.0.1:9\n',
    );
  });

  it('keeps the command from running with --require', async () => {
    const cwd = temporaryDirectory();
    const { code } = await callRun(
      ['touch', 'ran'],
      ['--base-url', 'http://127.0.0.1:9', '--retries', '0', '--require'],
      {
        cwd,
        env: { SVC_USERNAME: 'u', SVC_PASSWORD: 'pass-word' },
      },
    );
    expect(code).toBe(7);
    expect(readdirSync(cwd)).not.toContain('ran');
  });
});

describe('the record of a command', () => {
  it('is stored, and the command finds its call in the environment', async () => {
    const { env } = await serve();
    const cwd = temporaryDirectory();
    const { code, stdout } = await callRun(
      ['sh', '-c', 'echo $TRACEPARENT $SVC_CALL_ID $SVC_TRACE_ID $SVC_PROJECT_ID'],
      ['--log-file', 'calls.jsonl'],
      { cwd, env },
    );
    expect(code).toBe(0);
    const [line] = logged(cwd);
    const { id, trace_id } = line ?? {};
    expect(stdout).toBe(`00-${trace_id}-${id}-01 ${id} ${trace_id} acme/support-bot\n`);
    expect(line).toMatchObject({ op_name: 'sh', exit_code: 0, signal: null, sent: true });
  });

  it('is a child of the call it runs in', async () => {
    const cwd = temporaryDirectory();
    const inner = 'svc call run --local --project-id a/b --log-file calls.jsonl -- true';
    await inShell(
      `svc call run --local --project-id a/b --log-file calls.jsonl -- bash -c '${'"$0" "$1" call run --local --project-id a/b --log-file calls.jsonl -- true'}' "$(command -v node)" "$PROGRAM"; ${inner}`,
      {
        cwd,
        env: { PROGRAM: new URL('../../bin/svc.js', import.meta.url).pathname },
      },
    );
    const [nested, outer, alone] = logged(cwd);
    expect(nested).toMatchObject({ trace_id: outer?.trace_id, parent_id: outer?.id });
    expect(alone?.trace_id).not.toBe(outer?.trace_id);
  });

  it('has no secret in it', async () => {
    const cwd = temporaryDirectory();
    const secret = 'hunter2-secret';
    await callRun(
      ['true', '--password', secret, `TOKEN=${secret}`, `https://u:${secret}@h.test/`, `x${secret}y`],
      ['--local', '--spool=only', '--inputs', 'argv', '--env', 'MY_TOKEN', '--env', 'LANG'],
      {
        cwd,
        env: { MY_TOKEN: secret, LANG: 'C' },
      },
    );
    const [file = ''] = readdirSync(join(cwd, 'data/spool'));
    const text = readFileSync(join(cwd, 'data/spool', file), 'utf8');
    expect(text).not.toContain(secret);
    expect(JSON.parse(text.split('\n')[1] ?? '').start.inputs.command).toEqual([
      'true',
      '--password',
      '[redacted]',
      'TOKEN=[redacted]',
      'https://[redacted]@h.test/',
      'x[redacted]y',
    ]);
  });

  it.each<[string, readonly string[], object]>([
    ['the base name of the command', [], { command: ['true'] }],
    ['nothing with --inputs none', ['--inputs', 'none'], {}],
    ['all arguments with --inputs argv', ['--inputs', 'argv'], { command: ['/bin/true', '-x', '--dbpass=[redacted]'] }],
  ])('has %s', async (_, flags, inputs) => {
    const cwd = temporaryDirectory();
    await callRun(['/bin/true', '-x', '--dbpass=hunter2'], ['--local', '--spool=only', ...flags], { cwd });
    const [file = ''] = readdirSync(join(cwd, 'data/spool'));
    const text = readFileSync(join(cwd, 'data/spool', file), 'utf8');
    const { op_name, inputs: recorded } = JSON.parse(text.split('\n')[1] ?? '').start;
    expect([op_name, recorded]).toEqual(['true', inputs]);
    expect(text).not.toContain('hunter2');
  });

  it('comes with feedback on the exit, sent once however often', async () => {
    const { env } = await serve();
    const cwd = temporaryDirectory();
    await callRun(['sh', '-c', 'exit 3'], ['--exit-feedback', '--retries', '0'], { cwd, env });
    const { stdout } = await run(['feedback', 'schema', ...project, '--since', '1h', '--feedback-type', 'exit'], {
      cwd,
      env,
    });
    expect(JSON.parse(stdout).paths.map(({ json_path }: { json_path: string }) => json_path)).toEqual([
      'command',
      'duration_ms',
      'exit_code',
      'signal',
    ]);
  });
});

describe('streams and signals', () => {
  it('pass 10 MB through stdin and stdout unchanged', { timeout: 60_000 }, async () => {
    const bytes = Buffer.alloc(10 * 1024 * 1024, 'abcdefghij');
    const { code, stdout } = await callRun(['cat'], ['--local'], { stdin: bytes });
    expect([code, stdout.length, stdout === bytes.toString()]).toEqual([0, bytes.length, true]);
  });

  it('forwards SIGTERM, and the command decides', async () => {
    const child = start([
      'call',
      'run',
      ...project,
      '--local',
      '--spool=only',
      '--',
      'sh',
      '-c',
      'trap "echo got; exit 5" TERM; echo ready; while :; do sleep 0.05; done',
    ]);
    const result = waitForExit(child);
    await new Promise((resolve) => child.stdout?.once('data', resolve));
    child.kill('SIGTERM');
    const { code, stdout } = await result;
    expect([code, stdout]).toEqual([5, 'ready\ngot\n']);
  });

  it('forwards SIGUSR1 without opening the inspector', async () => {
    const child = start([
      'call',
      'run',
      ...project,
      '--local',
      '--spool=only',
      '--',
      'sh',
      '-c',
      'trap "exit 6" USR1; echo ready; while :; do sleep 0.05; done',
    ]);
    const result = waitForExit(child);
    await new Promise((resolve) => child.stdout?.once('data', resolve));
    child.kill('SIGUSR1');
    const { code, stderr } = await result;
    expect([code, stderr]).toEqual([6, '']);
  });
});

it('SIGINT during the grace time ends svc by the signal', async () => {
  const { url } = await countingServer(String, () => {});
  const command = ['sh', '-c', 'echo $$'];
  const child = start(['call', 'run', ...project, '--base-url', url, '--grace', '200s', '--', ...command], {
    env: login,
  });
  const result = waitForExit(child);
  const pid = await firstLine(child);
  // From then on svc knows that the command has ended.
  await vi.waitUntil(() => !existsSync(`/proc/${pid}`), 60_000);
  child.kill('SIGINT');
  expect(await result).toMatchObject({
    signal: 'SIGINT',
    stderr: expect.stringMatching(
      /^svc: warning: the call may not have been recorded: interrupted before the response/,
    ),
  });
});

describe('the spool', () => {
  it.each(['--spool', '--spool=only'])('has the record before the command starts: %s', async (flag) => {
    const cwd = temporaryDirectory();
    const { url } = await countingServer(String, () => {});
    const env = login;
    const kills = Array.from({ length: 20 }, () =>
      callRun(['sh', '-c', 'kill -KILL $PPID'], [flag, '--base-url', url], { cwd, env }),
    );
    expect((await Promise.all(kills)).map(({ signal }) => signal)).toEqual(kills.map(() => 'SIGKILL'));
    const files = readdirSync(join(cwd, 'data/spool'));
    expect(files.filter((name) => /^[0-9a-f]{16}\.json$/.test(name))).toHaveLength(20);
    expect(files).toHaveLength(20);
  });

  it('keeps a call until the service has it', async () => {
    const { env, url } = await serve();
    const cwd = temporaryDirectory();
    const spool = (): string[] => readdirSync(join(cwd, 'data/spool'));
    const down = await callRun(['true'], ['--spool', '--base-url', url, '--retries', '0', '--timeout', '10'], {
      cwd,
      env: { SVC_USERNAME: 'x', SVC_PASSWORD: 'wrong-one' },
    });
    expect(down.stderr).toMatch(/not recorded/);
    expect(spool()).toHaveLength(1);
    await callRun(['true'], ['--spool=only', '--base-url', 'http://127.0.0.1:9'], { cwd });
    expect(spool()).toHaveLength(2);
    const flushed = await run(['call', 'flush'], { cwd, env });
    expect([flushed.code, JSON.parse(flushed.stdout)]).toEqual([
      0,
      { sent: 1, remaining: 0, other_base_urls: 1, removed: 0 },
    ]);
    expect(spool()).toHaveLength(1);
    const again = await run(['call', 'flush'], { cwd, env });
    expect(JSON.parse(again.stdout)).toEqual({ sent: 0, remaining: 0, other_base_urls: 1, removed: 0 });
  });
});

const straceError = noStrace();
if (straceError) process.stderr.write(`skipped: system calls of --spool=only; ${straceError}\n`);

describe.skipIf(straceError)('the system calls of a record', () => {
  const words = ['call', 'run', ...project, '--local', '--spool=only', '--', 'true'];

  it('are synced, with the directories, before the command starts', async () => {
    const cwd = temporaryDirectory();
    const log = join(cwd, 'strace.log');
    const trace = ['-f', '-y', '-o', log, '-e', 'trace=fsync,rename,execve', process.execPath, program];
    const child = spawn('strace', [...trace, ...words], { cwd, env: cleanEnv(cwd) });
    expect(await waitForExit(child)).toMatchObject({ code: 0 });
    const spool = join(cwd, 'data/spool');
    const steps = [
      `fsync\\(\\d+<${cwd}>`,
      `fsync\\(\\d+<${join(cwd, 'data')}>`,
      `fsync\\(\\d+<${spool}/\\.[0-9a-f]{16}\\.json\\.[^/]+\\.tmp>`,
      'rename\\(',
      `fsync\\(\\d+<${spool}>`,
      'execve\\("[^"]*/true"',
    ];
    expect(readFileSync(log, 'utf8')).toMatch(new RegExp(steps.join('[^]*')));
  });

  it('leave a file that call flush removes when svc is killed before the last one', async () => {
    const cwd = temporaryDirectory();
    const { status } = withFault({ name: 'rename', count: 1, paths: [] }, 'signal=KILL', words, '', cwd);
    expect(status).not.toBe(0);
    expect(readdirSync(join(cwd, 'data/spool'))).toEqual([
      expect.stringMatching(/^\.[0-9a-f]{16}\.json\.\d+\.[^/]+\.tmp$/),
    ]);
    const { stdout } = await run(['call', 'flush', '--local'], { cwd });
    expect(JSON.parse(stdout)).toEqual({ sent: 0, remaining: 0, other_base_urls: 0, removed: 1 });
    expect(readdirSync(join(cwd, 'data/spool'))).toEqual([]);
  });
});

describe('--spool=only', () => {
  it.skipIf(straceError)('opens no socket and resolves no name', async () => {
    const cwd = temporaryDirectory();
    const log = join(cwd, 'strace.log');
    const command = [process.execPath, program, 'call', 'run', ...project, '--spool=only'];
    const child = spawn(
      'strace',
      ['-f', '-o', log, '-e', 'trace=%network,openat', ...command, '--base-url', 'https://h.test', '--', 'true'],
      { cwd, env: cleanEnv(cwd) },
    );
    expect(await waitForExit(child)).toMatchObject({ code: 0, stderr: '' });
    expect(readdirSync(join(cwd, 'data/spool'))).toHaveLength(1);
    const calls = readFileSync(log, 'utf8');
    expect(calls).toContain('openat(');
    expect(calls).not.toMatch(/\b(socket|connect|sendto|sendmsg)\(/);
    expect(calls).not.toMatch(/resolv\.conf|nsswitch\.conf|\/etc\/hosts/);
  });
});

describe('svc call flush', () => {
  const flushUnder = (cwd: string, env: Record<string, string>) => run(['call', 'flush'], { cwd, env });
  const spoolCall = (cwd: string, url: string) => callRun(['true'], ['--spool=only', '--base-url', url], { cwd });

  it('names the files of calls that the service does not accept, and sends the others', async () => {
    const cwd = temporaryDirectory();
    const server = await countingServer(
      (body) => body,
      ({ key, count }, response) => {
        const { op_name, id, trace_id } = JSON.parse(key).start;
        const detail = [{ loc: ['body', 'start', 'op_name'], msg: 'unknown', type: 'value_error' }];
        if (op_name === 'bad') answerJson(response, { detail }, 422);
        else if (op_name === 'other') answerJson(response, { id: 'i', trace_id: 't' });
        else answerJson(response, { id, trace_id }, count === 1 ? 429 : 200);
      },
    );
    const spool = join(cwd, 'data/spool');
    const files = [];
    for (const name of ['good', 'bad', 'fine', 'other']) {
      const before = existsSync(spool) ? readdirSync(spool) : [];
      await callRun(['true'], ['--spool=only', '--base-url', server.url, '--op-name', name], { cwd });
      files.push(...readdirSync(spool).filter((file) => !before.includes(file)));
    }
    const [, bad = '', , other = ''] = files;
    const { code, stdout, stderr } = await flushUnder(cwd, { ...login, SVC_BASE_URL: server.url });
    expect([code, JSON.parse(stdout)]).toEqual([10, { sent: 2, remaining: 2, other_base_urls: 0, removed: 0 }]);
    expect(readdirSync(spool)).toEqual([bad, other].sort());
    const [headline, ...lines] = stderr.trimEnd().split('\n');
    expect(headline).toBe('svc: 2 of 4 calls were not confirmed');
    expect(lines.slice(0, -1).sort()).toEqual(
      [
        `  ${join(spool, bad)}: ${server.url} returned 422 Unprocessable Entity: start.op_name: unknown`,
        `  ${join(spool, other)}: the response has id "i", but "${other.replace('.json', '')}" was sent; it may be for another request`,
      ].sort(),
    );
    expect(lines.at(-1)).toMatch(/^ {2}if the base URL is right, correct or remove these files; .*svc call flush$/);
  });

  it('is needed for a call whose response has other ids', async () => {
    const cwd = temporaryDirectory();
    const server = await countingServer(String, (_, response) => answerJson(response, { id: 'i', trace_id: 't' }));
    const { stderr } = await callRun(['true'], ['--spool', '--base-url', server.url], { cwd, env: login });
    expect(stderr).toContain(
      `the call stays in the spool; to send it again, run: svc call flush --base-url ${server.url}\n`,
    );
    expect(readdirSync(join(cwd, 'data/spool'))).toHaveLength(1);
  });

  it('names the base URLs of calls that it leaves in the spool', async () => {
    const cwd = temporaryDirectory();
    for (const port of [5, 1, 2, 3, 4, 5]) await spoolCall(cwd, `http://127.0.0.1:${port}`);
    const { code, stdout, stderr } = await flushUnder(cwd, { ...login, SVC_BASE_URL: 'http://127.0.0.1:9' });
    expect([code, JSON.parse(stdout)]).toEqual([0, { sent: 0, remaining: 0, other_base_urls: 6, removed: 0 }]);
    const urls = [1, 2, 3].map((port) => `http://127.0.0.1:${port}`).join(', ');
    expect(stderr).toBe(`svc: 6 calls belong to other base URLs and stay in the spool: ${urls}, 2 more\n`);
    const flush = ['call', 'flush', '--base-url', 'http://127.0.0.1:5', '--retries', '0'];
    expect((await run(flush, { cwd, env: login })).stderr).toMatch(
      /with: svc call flush --base-url http:..127.0.0.1:5$/m,
    );
  });

  it('gives up on a service that is down, and is not a shard', async () => {
    const cwd = temporaryDirectory();
    await spoolCall(cwd, 'http://127.0.0.1:9');
    const env = { ...login, SVC_BASE_URL: 'http://127.0.0.1:9', SVC_SHARD: '2/2' };
    const { code, stdout, stderr } = await flushUnder(cwd, env);
    expect([code, JSON.parse(stdout)]).toEqual([10, { sent: 0, remaining: 1, other_base_urls: 0, removed: 0 }]);
    expect(stderr).toMatch(
      /^svc: 1 of 1 call was not confirmed: could not connect for \d+ s to http:\/\/[^ ]*: connection refused\n/,
    );
  });
});

describe('svc call start', () => {
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
  const spanId = '00f067aa0ba902b7';
  const env = { TRACEPARENT: `00-${traceId}-${spanId}-00` };
  const dryRun = async (flags: readonly string[], variables: Record<string, string> = env) => {
    const { stdout } = await run(['call', 'start', ...project, '--op-name', 'x', '--dry-run', ...flags], {
      env: variables,
    });
    return JSON.parse(stdout).start;
  };
  const hex = /^[0-9a-f]{16}$/;
  const uuid = /^[0-9a-f]{8}-/;

  it('continues the trace of the environment', async () => {
    const start = await dryRun([]);
    expect(start).toMatchObject({ trace_id: traceId, parent_id: spanId });
    expect(start.id).toMatch(hex);
  });

  it.each([
    ['--no-parent', ['--no-parent'], env],
    ['an id of a trace', ['--trace-id', traceId], env],
    ['no parent', [], {}],
    ['an invalid parent', [], { TRACEPARENT: 'no' }],
  ])('has ids of its own with %s', async (_, flags, variables) => {
    const start = await dryRun(flags, variables as Record<string, string>);
    expect(start.parent_id).toBeUndefined();
    expect(start.id).toMatch(uuid);
  });

  it('adds nothing with --exact', async () => {
    expect(Object.keys(await dryRun(['--exact']))).toEqual(['op_name', 'project_id']);
  });

  it('exports its ids for child processes', async () => {
    const { stdout } = await inShell(
      'eval "$(svc call start --local --project-id a/b --op-name x --export)"; echo "$TRACEPARENT $SVC_CALL_ID $SVC_TRACE_ID"',
    );
    const [parent = '', call = '', trace = ''] = stdout.trim().split(' ');
    expect(parent).toBe(`00-${trace}-${call}-01`);
    expect([call, trace]).toEqual([expect.stringMatching(hex), expect.stringMatching(/^[0-9a-f]{32}$/)]);
  });
});
