import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { done, event, streamHead } from '../support/event-stream.ts';
import { rawServer } from '../support/raw-server.ts';
import { temporaryDirectory } from '../support/svc.ts';
import { hasTerminal, runOnTerminal } from '../support/terminal.ts';

const delta = (content: string): string => event(`{"choices":[{"index":0,"delta":${content},"finish_reason":null}]}`);
const end = `${event('{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}')}${done}`;

describe.skipIf(!hasTerminal)('on a terminal (skipped where `script` of util-linux is missing)', () => {
  it('a chat is streamed: text as it arrives, reasoning dimmed on stderr', async () => {
    const bodies: string[] = [];
    const server = await rawServer((socket, request) => {
      bodies.push(request.toString());
      socket.end(
        streamHead + delta('{"reasoning":"hm"}') + delta('{"content":"Hello "}') + delta('{"content":"you"}') + end,
      );
    });
    const env = { SVC_BASE_URL: server.url, SVC_TOKEN: 'tok-en-1' };
    const { code, screen } = await runOnTerminal(['chat', 'Hi'], { env });
    expect(code).toBe(0);
    expect(screen).toMatch(/^\x1b\[2mhm\x1b\[22m/);
    expect(screen.replace(/\x1b\[\d+m/g, '')).toBe('hm\r\nHello you\r\n');
    expect(bodies[0]).toContain('"stream":true');
    for (const flags of [
      ['--json'],
      ['--n', '2'],
      ['--prompt-logprobs', '1'],
      ['--use-beam-search'],
      ['--no-stream'],
      ['--exact'],
      ['-o', 'out.txt'],
    ]) {
      bodies.length = 0;
      await runOnTerminal(['chat', 'Hi', ...flags], { env });
      expect(bodies[0]).not.toContain('"stream":true');
    }
    bodies.length = 0;
    await runOnTerminal(['chat', 'Hi', '--format', 'jsonl', '-o', 'out.jsonl'], { env });
    expect(bodies[0]).toContain('"stream":true');
  });

  it('results are tables, help and errors fit, NO_COLOR is honored', async () => {
    const cwd = temporaryDirectory();
    const call = await runOnTerminal(
      [
        'call',
        'start',
        '--local',
        '--project-id',
        'a/b',
        '--op-name',
        'x',
        '--id',
        '0123456789abcdef',
        '--trace-id',
        '0123456789abcdef0123456789abcdef',
      ],
      { cwd },
    );
    expect(call.screen).toBe('id        0123456789abcdef\r\ntrace_id  0123456789abcdef0123456789abcdef\r\n');
    const json = await runOnTerminal(
      ['call', 'start', '--local', '--project-id', 'a/b', '--op-name', 'x', '--id', '0123456789abcdef', '--json'],
      { cwd },
    );
    expect(json.screen.replace(/\x1b\[\d+m/g, '')).toMatch(/^\{\r\n {2}"id": "0123456789abcdef",\r\n/);
    expect((await runOnTerminal(['chat', '--bad'])).screen).toContain('\x1b[31msvc:\x1b[39m unknown flag "--bad"');
    expect((await runOnTerminal(['chat', '--bad'], { env: { NO_COLOR: '1' } })).screen).not.toContain('\x1b');
  });

  it('JSON has color, unless NO_COLOR, --color or a dumb terminal says otherwise; elsewhere it has none', async () => {
    const plain = '[\r\n  {\r\n    "name": "local",';
    const list = async (flags: readonly string[], env: Readonly<Record<string, string>>): Promise<string> =>
      (await runOnTerminal(['profile', 'list', '--json', ...flags], { env })).screen;
    const colored = await list([], {});
    expect(colored).toContain('\x1b[36m"name"\x1b[39m: \x1b[32m"local"\x1b[39m');
    expect(colored).toContain('\x1b[35mfalse\x1b[39m');
    expect(await list(['--color', 'always'], { NO_COLOR: '1' })).toBe(colored);
    expect(await list(['--color', 'never'], {})).toContain(plain);
    expect(await list([], { NO_COLOR: '1' })).toContain(plain);
    expect(await list([], { TERM: 'dumb' })).toContain(plain);
    expect((await runOnTerminal(['help', '--json'], { env: {} })).screen).toContain('\x1b[36m"commands"\x1b[39m');
    const { redirected } = await runOnTerminal(['profile', 'list', '--json', '--color', 'always'], {
      redirect: 'stdout',
      env: { FORCE_COLOR: '1' },
    });
    expect(redirected).toMatch(/^\[\{"name":"local",/);
  });

  it('at a terminal without a body: exit 2', async () => {
    for (const args of [
      ['call', 'start', '--local'],
      ['train', '--local'],
      ['chat', '--local', '--no-stdin', '--temperature', '1'],
    ]) {
      const { code, screen } = await runOnTerminal(args);
      expect(code).toBe(2);
      expect(screen).toContain('no body was given');
    }
  });

  it('prompts for credentials and does not echo the input', async () => {
    const cwd = temporaryDirectory();
    const { code, screen } = await runOnTerminal(['auth', 'login', '--profile', 'work'], {
      cwd,
      typed: [
        ['What is the server for?', '\r'],
        ['Base URL:', 'https://svc.test\r'],
        ['(empty for none):', 'api\r'],
        ['Password of api:', 'pass-word-9\r'],
        ['Token for chat and training', 'tok-en-9\r'],
      ],
    });
    expect(code, screen).toBe(0);
    expect(screen).toMatch(/logging in to https:\/\/svc\.test \(profile "work"\)[\s\S]*Password of api:/);
    expect(screen).not.toMatch(/pass-word-9|tok-en-9/);
    const stored = JSON.parse(readFileSync(join(cwd, 'config', 'config.json'), 'utf8'));
    expect(stored.profiles.work).toEqual({
      base_url: 'https://svc.test',
      username: 'api',
      password: 'pass-word-9',
      token: 'tok-en-9',
      basic_origins: ['https://svc.test'],
      bearer_origins: ['https://svc.test'],
    });
  });

  it.each([
    ['Ctrl-C', '\x03', 'Password of api: ', ['--username', 'api']],
    ['Ctrl-D', '\x04', 'Password of api: ', ['--username', 'api']],
    ['Ctrl-C', '\x03', '(empty for all): ', []],
    ['Ctrl-D', '\x04', '(empty for all): ', []],
  ])('%s at a prompt ends with 130 and stores nothing', async (_, key, prompt, flags) => {
    const cwd = temporaryDirectory();
    const { code, screen } = await runOnTerminal(['auth', 'login', '--base-url', 'https://svc.test', ...flags], {
      cwd,
      typed: [[prompt, key]],
    });
    expect(code).toBe(130);
    expect(screen).toMatch(/: \x1b\[\d+G\r\n\S+ interrupted; nothing was sent\r\n$/);
    expect(() => readFileSync(join(cwd, 'config', 'config.json'))).toThrow();
  });

  it('text of a server cannot control the terminal', async () => {
    const evil = '\\u001b]0;title\\u0007\\u001b[31mred\\u202e\\u200b\\u009b';
    const server = await rawServer((socket) =>
      socket.end(streamHead + delta(`{"content":"a${evil}b\\rc\\nd 👨‍👩‍👧"}`) + end),
    );
    const { screen } = await runOnTerminal(['chat', 'Hi'], {
      env: { SVC_BASE_URL: server.url, SVC_TOKEN: 'tok-en-1' },
    });
    expect(screen).toBe('a\\x1b]0;title\\x07\\x1b[31mred\\u202e\\u200b\\u009bb\\x0dc\r\nd 👨‍👩‍👧\r\n');
  });
});
