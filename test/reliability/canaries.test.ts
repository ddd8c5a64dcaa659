import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { afterAll, describe, expect, it } from 'vitest';
import type { Runtime } from '../../src/runtime.ts';
import { closedPort } from '../support/faults.ts';
import { figure } from '../support/figure.ts';
import { httpAnswer, rawServer } from '../support/raw-server.ts';
import { callStart, type Result, type Setting, svc, temporaryDirectory } from '../support/svc.ts';
import { ascii, beyond, leakingFiles, leaksIn, outcomes } from './canaries.ts';

/** A place a secret comes from. */
interface Source {
  readonly name: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  /** Files of the directory it runs in, given the URL of the service. */
  readonly files?: (url: string) => Readonly<Record<string, string>>;
  /** A command that stores it first. */
  readonly login?: { readonly args: readonly string[]; readonly stdin?: string };
}

const chat = ['chat', 'x', '-m', 'm', '--no-stdin'];
const profile = (settings: object) => (url: string) => ({
  'config/config.json': JSON.stringify({ current: 'p', profiles: { p: { base_url: url, ...settings } } }),
});
const token = { SVC_TOKEN: 'tok-en-1' };
const body = `{"messages":[{"role":"user","content":"x"}],"model":"m","cache_salt":${JSON.stringify(beyond)}}`;

const sources: readonly Source[] = [
  { name: 'SVC_TOKEN', args: chat, env: { SVC_TOKEN: ascii } },
  { name: 'SVC_PASSWORD', args: callStart, env: { SVC_USERNAME: 'api', SVC_PASSWORD: beyond } },
  {
    name: 'a token file',
    args: chat,
    login: { args: ['--token-file', 'secret.txt'] },
    files: () => ({ 'secret.txt': `${ascii}\n` }),
  },
  { name: 'a token on stdin', args: chat, login: { args: ['--token-stdin'], stdin: ascii } },
  {
    name: 'a password file',
    args: callStart,
    login: { args: ['--username', 'api', '--password-file', 'secret.txt'] },
    files: () => ({ 'secret.txt': beyond }),
  },
  {
    name: 'a password on stdin',
    args: callStart,
    login: { args: ['--username', 'api', '--password-stdin'], stdin: `${beyond}\r\n` },
  },
  {
    name: 'a header of a profile',
    args: chat,
    env: token,
    files: (url) => profile({ headers: { 'X-Api-Key': ascii }, header_origins: [url] })(url),
  },
  { name: '-H', args: [...chat, '-H', `X-Api-Key: ${ascii}`], env: token },
  {
    name: '--header for a call',
    args: [...callStart, `--header=X-Secret: ${ascii}`],
    env: { SVC_USERNAME: 'api', SVC_PASSWORD: 'pass-word-1' },
  },
  {
    name: '--cache-salt @file',
    args: [...chat, '--cache-salt', '@secret.txt'],
    env: token,
    files: () => ({ 'secret.txt': beyond }),
  },
  { name: '--cache-salt @-', args: ['chat', 'x', '--cache-salt', '@-'], env: token, stdin: beyond },
  {
    name: 'a cache_salt in a file',
    args: ['chat', '-f', 'secret.txt'],
    env: token,
    files: () => ({ 'secret.txt': body }),
  },
  { name: 'a cache_salt on stdin', args: ['chat'], env: token, stdin: body },
  { name: 'SVC_UPSTREAM_TOKEN', args: chat, env: { ...token, SVC_UPSTREAM_TOKEN: ascii } },
];

const loud: readonly (readonly string[])[] = [
  [],
  ['-q'],
  ['-v'],
  ['--error-format', 'json'],
  ['-v', '--error-format', 'json'],
  ['--json', '-v'],
];
const shows: readonly (readonly string[])[] = [
  ['--dry-run'],
  ['--dry-run', '--json'],
  ['--dry-run', '-v'],
  ['--curl'],
  ['--curl', '-v'],
];
const settings = [
  ['doctor'],
  ['doctor', '--json'],
  ['doctor', '--probe'],
  ['auth', 'status'],
  ['profile', 'list'],
  ['profile', 'show'],
  ['auth', 'logout'],
];
const stores = ['config.json', 'secret.txt'];

let tried = 0;
let leaks = 0;

function expectNone({ code, stdout, stderr }: Result, cwd: string, isData = false): void {
  tried += 1;
  const found = [...leaksIn(stderr), ...(isData ? [] : leaksIn(stdout)), ...leakingFiles(cwd, stores)];
  leaks += found.length;
  expect(found, `exit ${code}\n${stderr}\n${stdout}`).toEqual([]);
}

type Run = (more: readonly string[], to?: string, runtime?: Setting['runtime']) => Promise<[Result, string]>;

// A home with the secret in its place, to run the command of the source in.
async function prepared({ args, env = {}, stdin, files, login }: Source, url: string): Promise<Run> {
  const cwd = temporaryDirectory();
  mkdirSync(join(cwd, 'config'));
  const given = files?.(url) ?? {};
  for (const [name, content] of Object.entries(given)) writeFileSync(join(cwd, name), content);
  if (login) {
    const stored = await svc(['auth', 'login', '--base-url', url, ...login.args], { cwd, stdin: login.stdin ?? '' });
    expect(stored.code, stored.stderr).toBe(0);
    expectNone(stored, cwd);
  }
  const isStored = login !== undefined || 'config/config.json' in given;
  return async (more, to = isStored ? '' : url, runtime = {}) => [
    await svc([...args, ...more], {
      cwd,
      env: { SVC_RETRIES: '0', SVC_BASE_URL: to, ...env },
      runtime,
      ...(stdin === undefined ? {} : { stdin }),
    }),
    cwd,
  ];
}

afterAll(() =>
  figure(`${tried} combinations of ${sources.length} sources of secrets, verbosity and outcome: ${leaks} appearances`),
);

describe('the search for secrets', () => {
  it.each([
    ascii,
    beyond,
    `x ${btoa(ascii)}`,
    btoa(`a${btoa(`ab${ascii}`)}`),
    encodeURIComponent(beyond),
    JSON.stringify(ascii),
  ])('finds %s', (text) => {
    expect(leaksIn(text)).not.toEqual([]);
  });
});

describe.each(sources)('a secret from $name', (source) => {
  it.each(outcomes)('is not printed after $name', async ({ answer, isData }) => {
    let seen = false;
    const server = await rawServer((socket, request) => {
      seen = leaksIn(request.toString('latin1')).length > 0;
      socket.end(answer(request));
    });
    const run = await prepared(source, server.url);
    for (const flags of loud) {
      const [result, cwd] = await run(flags);
      expectNone(result, cwd, isData);
      // Otherwise the test would prove nothing.
      expect(seen || source.name === 'SVC_UPSTREAM_TOKEN', result.stderr).toBe(true);
      expect(result.code).not.toBe(1);
    }
  });

  it('is not printed if nothing is sent, the connection is refused, or svc fails', async () => {
    const server = await rawServer((socket) =>
      socket.end(httpAnswer('{"id":"i","trace_id":"t","choices":[{"message":{"content":"a"}}]}')),
    );
    const run = await prepared(source, server.url);
    for (const flags of shows) {
      const [result, cwd] = await run(flags);
      expect(result.code, result.stderr).toBe(0);
      expectNone(result, cwd);
    }
    expect(server.received).toEqual([]);
    const nobody = await closedPort();
    for (const flags of loud) {
      expectNone(...(await run(flags, nobody)));
      const [result, cwd] = await run(flags, undefined, { stdout: broken(JSON.stringify([source.env, source.args])) });
      expectNone(result, cwd);
      expect(result.code, result.stderr).toBe(1);
    }
  });

  it('is not printed by commands that show settings', async () => {
    const echo = await rawServer((socket, request) => socket.end(httpAnswer(`${request}`, '400 No')));
    const run = await prepared({ ...source, args: [] }, echo.url);
    for (const args of settings)
      for (const flags of [[], ['-v'], ['--error-format', 'json']]) expectNone(...(await run([...args, ...flags])));
  });
});

describe('the password of a proxy', () => {
  const answers: readonly (readonly [name: string, answer: (request: Buffer) => string])[] = [
    ['an echo', (request) => httpAnswer(`${request}`, '407 No')],
    ['an echo in headers', (request) => httpAnswer('', '407 No', `X-Echo: ${/Basic \S+/.exec(`${request}`)?.[0]}\r\n`)],
    [
      'an echo where it redirects to',
      (request) => httpAnswer('', '302 No', `Location: /${Buffer.from(basicIn(request), 'base64').toString()}\r\n`),
    ],
    ['a cut', () => 'HTTP/1.1 200'],
    ['nothing', () => ''],
  ];

  it.each(answers)('is not printed after %s', async (_, answer) => {
    const proxy = await rawServer((socket, request) => socket.end(answer(request)));
    for (const password of [ascii, beyond]) {
      const address = `http://user:${encodeURIComponent(password)}@127.0.0.1:${proxy.port}`;
      for (const flags of loud)
        for (const to of ['https://svc.test', 'http://svc.test']) {
          const cwd = temporaryDirectory();
          const env = { ...token, HTTPS_PROXY: address, HTTP_PROXY: address, SVC_BASE_URL: to, SVC_RETRIES: '0' };
          const result = await svc([...chat, '--allow-http', ...flags], { cwd, env });
          expect([5, 7, 8, 9, 11], result.stderr).toContain(result.code);
          expectNone(result, cwd);
          expectNone(await svc(['doctor', ...flags.filter((flag) => flag !== '-q')], { cwd, env }), cwd);
        }
    }
    expect(proxy.received.some((request) => /proxy-authorization: basic/i.test(`${request}`))).toBe(true);
  });
});

describe('a secret in a wrong place', () => {
  it.each([
    ['--token', ascii],
    [`--token=${ascii}`],
    ['--password', beyond],
    [`--password=${beyond}`],
    ['--cache-salt', ascii],
    ['--set', `cache_salt=${ascii}`],
    ['--set', `cache_salt:=${JSON.stringify(beyond)}`],
    ['-H', `X-Api-Key ${ascii}`],
    ['-H', `X-Api-Key: ${ascii}\n`],
    ['-H', `Authorization: Bearer ${ascii}`],
    ['--base-url', `https://u:${encodeURIComponent(ascii)}@svc.test`],
  ])('as in %j %j is rejected and not repeated', async (...words) => {
    for (const flags of loud) {
      const cwd = temporaryDirectory();
      const result = await svc([...chat, '--base-url', 'https://svc.test', ...words, ...flags], { cwd, env: token });
      expect(result.code, result.stderr).toBe(2);
      expectNone(result, cwd);
    }
  });

  it.each(['', '}', '{', '"', '\\', ',', '\u0001'])(
    'as in a store that is invalid because of %j is not printed',
    async (fault) => {
      const whole = JSON.stringify({ current: 'p', profiles: { p: { base_url: 'https://svc.test', token: ascii } } });
      for (const at of [whole.indexOf(ascii.slice(0, 6)) - 3, whole.lastIndexOf('canary'), whole.length - 3]) {
        const cwd = temporaryDirectory();
        mkdirSync(join(cwd, 'config'));
        writeFileSync(join(cwd, 'config', 'config.json'), whole.slice(0, at) + fault + whole.slice(at + 1));
        for (const args of [['profile', 'show'], chat]) expectNone(await svc(args, { cwd }), cwd);
      }
    },
  );
});

// The user and password that a proxy was given, in base64.
function basicIn(request: Buffer): string {
  return /Proxy-Authorization: Basic (\S+)/i.exec(request.toString('latin1'))?.[1] ?? '';
}

// A stream that fails as only a bug would, with this message.
function broken(message: string): Runtime['stdout'] {
  return Object.assign(new Writable(), {
    write: () => {
      throw new TypeError(message);
    },
  });
}
