import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { jsonResponse } from '../../src/local-service/responses.ts';
import type { Runtime } from '../../src/runtime.ts';
import { readSpool } from '../../src/trace/spool.ts';
import { ascii, beyond, leakingFiles, leaksIn, outcomes } from '../reliability/canaries.ts';
import { cases } from '../reliability/faults.ts';
import { countingServer } from '../support/counting-server.ts';
import { closedPort, faultServer } from '../support/faults.ts';
import { bodyOf, httpAnswer, rawServer } from '../support/raw-server.ts';
import { recording } from '../support/service.ts';
import { type Setting, svc, temporaryDirectory } from '../support/svc.ts';

const credentials = { SVC_USERNAME: 'ada', SVC_PASSWORD: 'pass-word-1' };

/** Runs a command as a traced call, in this process; the command is a process of its own. */
function traced(command: readonly string[], flags: readonly string[], setting: Setting = {}) {
  const env = { PATH: process.env.PATH, ...credentials, ...setting.env };
  return svc(['call', 'run', '--project-id', 'a/b', ...flags, '--', ...command], { ...setting, env });
}

const exit7 = ['sh', '-c', 'exit 7'];

describe('the exit code of a traced command', () => {
  it('is that of the command for all of 0 to 255', { timeout: 60_000 }, async () => {
    const cwd = temporaryDirectory();
    const codes = Array.from({ length: 256 }, (_, code) => code);
    for (const code of codes) {
      const { code: received, stderr } = await traced(['sh', '-c', `exit ${code}`], ['--local', '--spool=only'], {
        cwd,
      });
      expect([received, stderr]).toEqual([code, '']);
    }
  });

  it.each([...cases, ...outcomes.map((outcome) => ({ ...outcome, at: undefined }))])(
    'is that of the command with a service that fails: $name',
    async (fault) => {
      const server =
        fault.at === undefined
          ? await rawServer((socket, request) => void socket.end(fault.answer(request)))
          : await faultServer();
      if ('follow' in server && fault.at !== undefined) server.follow([fault]);
      const { code, stdout, stderr } = await traced(exit7, ['--base-url', server.url, '--grace', '0.2']);
      expect([code, stdout]).toEqual([7, '']);
      expect(stderr).toMatch(
        /^(svc: warning: the call (was not|may not have been) recorded: [^\n]*\n|(svc: warning: the response has (trace_)?id [^\n]*\n){2})?$/,
      );
    },
  );

  it('is that of the command with a service that is down, and retries', async () => {
    const { code, stderr } = await traced(exit7, ['--base-url', await closedPort(), '--grace', '0.2']);
    expect(code).toBe(7);
    expect(stderr).toMatch(/^svc: warning: the call (was not|may not have been) recorded: [^\n]*\n$/);
  });

  it.each(['0', '0s'])('is that of the command with a silent service and --grace %s', async (grace) => {
    const server = await rawServer(() => {});
    const { code, stderr } = await traced(exit7, ['--base-url', server.url, '--grace', grace]);
    expect([code, stderr]).toEqual([7, expect.stringMatching(/recorded: no response within 0 s after the command/)]);
  });

  it('is that of the command with a service that sends without end', async () => {
    const server = await rawServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"');
      const send = (): void => void (socket.destroyed || socket.write('x'.repeat(65_536), () => setImmediate(send)));
      send();
    });
    const { code } = await traced(exit7, ['--base-url', server.url, '--grace', '0.2']);
    expect(code).toBe(7);
  });

  it.each([
    ['profiles', ['--base-url', 'http://127.0.0.1:9'], { 'config/config.json': '{bad' }],
    ['certificates', ['--base-url', 'https://127.0.0.1:9', '--cacert', 'none.pem'], {}],
    ['data', ['--local'], { data: 'a file in the place of a directory' }],
    ['a spool', ['--local', '--spool'], { data: 'a file in the place of a directory' }],
    ['an address without TLS', ['--base-url', 'http://192.0.2.1'], {}],
  ])('is that of the command with %s that cannot be used', async (_, flags, files) => {
    const cwd = temporaryDirectory();
    for (const [name, text] of Object.entries(files as Record<string, string>)) {
      if (name.includes('/')) mkdirSync(join(cwd, name, '..'));
      writeFileSync(join(cwd, name), text, { mode: 0o600 });
    }
    const { code, stderr } = await traced(exit7, [...flags, '--retries', '0'], { cwd });
    expect([code, stderr]).toEqual([7, expect.stringMatching(/^svc: warning: the call was not recorded: [^\n]*\n$/)]);
  });
});

describe('a signal before a traced command starts', () => {
  /** A runtime whose process receives SIGTERM while svc makes the ids of the call. */
  const interrupted = (): Partial<Runtime> => {
    const listeners = new Set<(signal: never) => void>();
    return {
      onSignal: (listener) => {
        listeners.add(listener);
        return () => void listeners.delete(listener);
      },
      randomBytes: (count) => {
        for (const listener of count === 16 ? listeners : []) Reflect.apply(listener, undefined, ['SIGTERM']);
        return new Uint8Array(count).fill(7);
      },
    };
  };

  it.each([[[]], [['--spool=only']]])('ends svc, and starts nothing (%j)', async (flags) => {
    const cwd = temporaryDirectory();
    const { send, recorded } = recording(() => Promise.reject(new Error('nothing is sent')));
    const runtime = interrupted();
    const service = ['--base-url', 'http://127.0.0.1:9'];
    const { code, stderr } = await traced(['touch', 'ran'], [...service, ...flags], { cwd, send, runtime });
    expect([code, stderr]).toEqual([143, 'svc: terminated; nothing was sent\n']);
    expect(recorded).toEqual([]);
    expect(existsSync(join(cwd, 'ran'))).toBe(false);
    expect(existsSync(join(cwd, 'data/spool'))).toBe(false);
  });

  it('ends svc also after the response (--require)', async () => {
    const cwd = temporaryDirectory();
    const listeners = new Set<(signal: never) => void>();
    const onSignal: Runtime['onSignal'] = (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    };
    const { send } = recording(async (request) => {
      const body = (async function* () {
        yield Buffer.from(JSON.stringify(JSON.parse(String(request.body)).start));
        for (const listener of listeners) Reflect.apply(listener, undefined, ['SIGTERM']);
      })();
      return { status: 200, statusText: 'OK', headers: [['Content-Type', 'application/json']], body };
    });
    const runtime = { onSignal };
    const flags = ['--base-url', 'http://127.0.0.1:9', '--require'];
    const { code, stderr } = await traced(['touch', 'ran'], flags, { cwd, send, runtime });
    expect([code, stderr]).toEqual([143, 'svc: interrupted before the command started\n  the request was applied\n']);
    expect(existsSync(join(cwd, 'ran'))).toBe(false);
  });
});

describe('the end of a traced command', () => {
  it('is not awaited by a log file that is a FIFO', async () => {
    const cwd = temporaryDirectory();
    execFileSync('mkfifo', [join(cwd, 'log')]);
    const { code, stderr } = await traced(exit7, ['--local', '--log-file', 'log'], { cwd });
    expect(code).toBe(7);
    expect(stderr).toMatch(/^svc: warning: the end of the call was not written to log: [^\n]*FIFO[^\n]*\n$/);
  });

  it('reports a log file and feedback that cannot be written by themselves', async () => {
    const server = await rawServer((socket) => socket.end(httpAnswer('{"detail":"no"}', '404 Not Found')));
    const flags = ['--log-file', 'none/log.jsonl', '--exit-feedback', '--base-url', server.url];
    const { code, stderr } = await traced(exit7, flags);
    expect(code).toBe(7);
    expect(stderr.trimEnd().split('\n')).toEqual([
      expect.stringMatching(/^svc: warning: the call was not recorded: .*404/),
      'svc: warning: the end of the call was not written to none/log.jsonl: no such file or directory; create the directory: mkdir -p none',
      expect.stringMatching(/^svc: warning: the feedback on the exit code may not have been recorded: .*404/),
    ]);
    expect(server.received).toHaveLength(2);
  });

  it.each([
    ['the service confirmed the record', [], true],
    ['the record is only in the spool', ['--spool=only'], false],
  ])('is logged as sent where %s', async (_, flags, sent) => {
    const cwd = temporaryDirectory();
    await traced(exit7, ['--local', '--log-file', 'log', ...flags], { cwd });
    expect(JSON.parse(readFileSync(join(cwd, 'log'), 'utf8'))).toMatchObject({ exit_code: 7, sent });
  });

  it.each([[[]], [['--require']]])('comes with warnings about responses with other ids: %j', async (flags) => {
    const server = await rawServer((socket) => socket.end(httpAnswer('{"id":"other","trace_id":"t2"}')));
    const { code, stderr } = await traced(exit7, ['--base-url', server.url, '--exit-feedback', ...flags]);
    expect(code).toBe(7);
    expect(stderr.trimEnd().split('\n')).toEqual([
      expect.stringMatching(/^svc: warning: the response has id "other", but "[0-9a-f]{16}" was sent/),
      expect.stringMatching(/^svc: warning: the response has trace_id "t2", but "[0-9a-f]{32}" was sent/),
      expect.stringMatching(/^svc: warning: the response has id "other", but "[0-9a-f-]{36}" was sent/),
    ]);
  });

  it.each([
    ['is down', async () => closedPort(), 'were not recorded: [^\\n]*could not connect'],
    ['is silent', async () => (await rawServer(() => {})).url, 'may not have been recorded: no response within 0.2 s'],
  ])('is reported in one line where the service %s', async (_, urlOf, reason) => {
    const flags = ['--exit-feedback', '--retries', '0', '--grace', '0.2'];
    const { code, stderr } = await traced(exit7, ['--base-url', await urlOf(), ...flags]);
    expect(code).toBe(7);
    expect(stderr).toMatch(new RegExp(`^svc: warning: the call and its exit code ${reason}[^\\n]*\\n$`));
  });

  it.each([
    [500, '{}', 'the call may not have been recorded: \\S+ returned 500 [^;]*; the request may have been applied'],
    [200, '', 'the call may not have been recorded: the response from \\S+ is empty'],
    [429, '', 'the call was not recorded: \\S+ returned 429 Too Many Requests'],
    [
      422,
      '{"detail":[{"loc":["body","start","started_at"],"msg":"bad","type":"x"}]}',
      'the call was not recorded: [^;]*: start.started_at: bad',
    ],
  ])('says what is known of a call after a %i, and nothing about running it again', async (status, text, message) => {
    const { url } = await countingServer(String, (_, response) => {
      response.writeHead(status, { 'Content-Type': 'application/json', 'Retry-After': '3600' }).end(text);
    });
    const { code, stderr } = await traced(exit7, ['--base-url', url, '--retries', '0']);
    expect([code, stderr]).toEqual([7, expect.stringMatching(new RegExp(`^svc: warning: ${message}\n$`))]);
    const feedback = message
      .replace('the call', 'the feedback on the exit code')
      .replace('may have been applied', 'may have been applied, or only have deleted the old record');
    const both = await traced(exit7, ['--base-url', url, '--retries', '0', '--exit-feedback']);
    expect(both.stderr.split('\n')[1]).toMatch(new RegExp(`^svc: warning: ${feedback}$`));
  });

  it('is recorded where it cannot be spooled', async () => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'data'), 'a file in the place of a directory');
    const { code, stderr } = await traced(exit7, ['--local', '--spool'], { cwd });
    expect([code, stderr]).toEqual([7, expect.stringMatching(/not recorded: [^\n]*; it was not spooled: [^\n]*\n$/)]);
    const server = await rawServer((socket, request) => {
      const { id, trace_id } = JSON.parse(bodyOf(request).toString()).start;
      socket.end(httpAnswer(JSON.stringify({ id, trace_id })));
    });
    const sent = await traced(exit7, ['--base-url', server.url, '--spool', '--log-file', 'log'], { cwd });
    expect([sent.code, sent.stderr]).toEqual([
      7,
      expect.stringMatching(/^svc: warning: the call was sent, but not spooled: [^\n]*\n$/),
    ]);
    expect(JSON.parse(readFileSync(join(cwd, 'log'), 'utf8'))).toMatchObject({ sent: true });
  });

  it('is not sent with --spool=only', async () => {
    const { code, stderr } = await traced(exit7, ['--local', '--spool=only', '--exit-feedback']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('--spool=only')]);
  });
});

it('--log-file - is exit code 2, and nothing runs', async () => {
  const { code, stdout, stderr } = await traced(['echo', 'ran'], ['--local', '--log-file', '-']);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toBe('svc: --log-file writes a file, not stdout\n  name a file, such as calls.jsonl\n');
});

it.each([
  ['FOO=hunter2', 'FOO'],
  ['', 'NAME'],
  ['=hunter2', 'NAME'],
])('--env=%s is exit code 2, and nothing runs', async (value, name) => {
  const { code, stdout, stderr } = await traced(['echo', 'ran'], ['--local', `--env=${value}`]);
  expect([code, stdout, stderr]).toEqual([2, '', `svc: --env takes the name of a variable\n  write: --env ${name}\n`]);
});

describe('svc call flush', () => {
  it('removes files that killed processes left half written, and reads regular files only', async () => {
    const spool = join(temporaryDirectory(), 'data', 'spool');
    mkdirSync(spool, { recursive: true });
    // Process 1 runs, but wrote no file for an hour.
    for (const name of ['.dead.json.4194305.tmp', '.old.json.1.tmp', '.new.json.1.tmp'])
      writeFileSync(join(spool, name), '{"target":');
    execFileSync('mkfifo', [join(spool, 'fifo.json')]);
    const anHourAgo = new Date(Date.now() - 3_600_000);
    utimesSync(join(spool, '.old.json.1.tmp'), anHourAgo, anHourAgo);
    const runtime = { now: Date.now, isRunning: (pid: number) => pid === 1 };
    const { code, stdout, stderr } = await svc(['call', 'flush', '--local'], { cwd: join(spool, '../..'), runtime });
    expect([code, JSON.parse(stdout)]).toEqual([0, { sent: 0, remaining: 0, other_base_urls: 0, removed: 2 }]);
    expect(stderr).toBe('svc: removed 2 incomplete records of commands that never started\n');
    expect(readdirSync(spool)).toEqual(['.new.json.1.tmp', 'fifo.json']);
  });

  it('is done where a signal arrives with the response to the last call', async () => {
    const cwd = temporaryDirectory();
    const service = ['--base-url', 'http://127.0.0.1:9'];
    await traced(['true'], [...service, '--spool=only'], { cwd });
    const listeners: ((signal: never) => void)[] = [];
    const onSignal: Runtime['onSignal'] = (listener) => {
      listeners.push(listener);
      return () => {};
    };
    const { send } = recording(async (request) => {
      for (const listener of listeners) Reflect.apply(listener, undefined, ['SIGTERM']);
      const body = (async function* () {
        yield Buffer.from(JSON.stringify(JSON.parse(String(request.body)).start));
      })();
      return { status: 200, statusText: 'OK', headers: [['Content-Type', 'application/json']], body };
    });
    const runtime = { onSignal };
    const result = await svc(['call', 'flush', ...service], { cwd, env: credentials, send, runtime });
    expect(result).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(result.stdout)).toMatchObject({ sent: 1, remaining: 0 });
  });
});

describe('a spooled call that cannot be removed', () => {
  // A directory takes its place while it is sent.
  const confirming = (spool: string) =>
    recording(async (request) => {
      for (const name of readdirSync(spool)) {
        rmSync(join(spool, name));
        mkdirSync(join(spool, name));
      }
      const { id, trace_id } = JSON.parse(String(request.body)).start;
      return jsonResponse(200, { id, trace_id });
    });
  const service = ['--base-url', 'http://127.0.0.1:9'];

  it('does not keep a command from running', async () => {
    const cwd = temporaryDirectory();
    const { send } = confirming(join(cwd, 'data', 'spool'));
    const { code, stderr } = await traced(exit7, [...service, '--spool', '--require'], { cwd, send });
    expect(code).toBe(7);
    expect(stderr).toMatch(/^svc: warning: the call was sent, but stays in the spool: cannot remove .*\.json: .*\n$/);
  });

  it('is sent by a flush, which fails', async () => {
    const cwd = temporaryDirectory();
    await traced(['true'], [...service, '--spool=only'], { cwd });
    const { send } = confirming(join(cwd, 'data', 'spool'));
    const { code, stdout, stderr } = await svc(['call', 'flush', ...service], { cwd, env: credentials, send });
    expect([code, JSON.parse(stdout)]).toEqual([12, { sent: 1, remaining: 0, other_base_urls: 0, removed: 0 }]);
    expect(stderr).toMatch(/^svc: cannot remove .*\.json: /);
  });
});

describe('secrets of a traced command', () => {
  const sources: readonly [string, readonly string[], Record<string, string>?][] = [
    ['a flag', ['--password', beyond, `--api-key=${ascii}`]],
    ['an assignment', [`TOKEN=${ascii}`, `X_SECRET=${beyond}`]],
    [
      'a variable',
      ['x', `--data={"k":${JSON.stringify(beyond)}}`, Buffer.from(beyond).toString('base64')],
      { MY_TOKEN: beyond },
    ],
    ['a variable that is recorded', [], { MY_TOKEN: ascii, MY_URL: `https://h.test/?q=${encodeURIComponent(ascii)}` }],
    ['the credentials of svc', [`x${ascii}y`], { SVC_PASSWORD: ascii }],
  ];

  it.each(sources)('appear nowhere: %s', async (_, words, env = {}) => {
    const cwd = temporaryDirectory();
    const echo = (request: Buffer) => outcomes.map(({ answer }) => answer(request))[1] ?? '';
    const server = await rawServer((socket, request) => void socket.end(echo(request)));
    const flags = [
      '--inputs',
      'argv',
      '--log-file',
      'log.jsonl',
      '--exit-feedback',
      '--spool',
      '--env',
      'MY_TOKEN',
      '--env',
      'MY_URL',
      '-v',
    ];
    const command = ['sh', '-c', 'exit 0', ...words];
    const { code, stdout, stderr } = await traced(command, ['--base-url', server.url, ...flags], { cwd, env });
    expect(code).toBe(0);
    const sent = server.received.map((request) => request.toString('latin1').replace(/^Authorization: .*$/m, ''));
    expect(sent).toHaveLength(2);
    expect([...sent, stdout, stderr].flatMap((text) => leaksIn(text))).toEqual([]);
    expect(leakingFiles(cwd, [])).toEqual([]);
  });

  it.each([
    ['is sent', ['--spool', '--exit-feedback'], 0],
    ['is required', ['--require'], 0],
    ['is spooled', ['--spool=only'], 0],
    ['is spooled without the secret', ['--spool=only'], 1],
  ])('that a credential command prints appear nowhere when the record %s', async (_, flags, exitCode) => {
    const cwd = temporaryDirectory();
    const server = await rawServer((socket, request) => {
      const { id, start = { id } } = JSON.parse(bodyOf(request).toString());
      socket.end(httpAnswer(JSON.stringify({ id: start.id, trace_id: start.trace_id })));
    });
    const service = ['--base-url', server.url];
    const profile = ['profile', 'set', 'p', ...service, '--username', 'bob'];
    const printer = ['sh', '-c', `cat secret-file; exit ${exitCode}`];
    expect(await svc([...profile, '--credential-command', JSON.stringify(printer)], { cwd })).toMatchObject({
      code: 0,
    });
    writeFileSync(join(cwd, 'config', 'secret-file'), ascii);
    const env = { SVC_USERNAME: undefined, SVC_PASSWORD: undefined };
    const { code, stderr } = await traced([...exit7, ascii], ['--profile', 'p', '--inputs', 'argv', ...flags], {
      cwd,
      env,
    });
    const sent = server.received.map((request) => request.toString('latin1').replace(/^Authorization: .*$/m, ''));
    expect([code, [...sent, stderr].flatMap((text) => leaksIn(text))]).toEqual([7, []]);
    expect(leakingFiles(cwd, ['secret-file'])).toEqual([]);
    expect(sent).toHaveLength(flags.includes('--spool=only') ? 0 : flags.includes('--spool') ? 2 : 1);
    expect(/the arguments and attributes of the command were not recorded: the credential_command/.test(stderr)).toBe(
      exitCode === 1,
    );
    const spooled = (await readSpool(join(cwd, 'data', 'spool'))).map(({ body }) => JSON.parse(body).start.inputs);
    const recorded = { command: exitCode === 1 ? ['sh'] : [...exit7, '[redacted]'] };
    expect(spooled).toEqual(flags.includes('--spool=only') ? [recorded] : []);
  });
});
