import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { transformSync } from 'esbuild';
import { describe, expect, it, onTestFinished } from 'vitest';
import { runBuilt } from '../support/built.ts';
import { inShell, program } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';
import { hasTerminal, runOnTerminal } from '../support/terminal.ts';

const completion = JSON.stringify({
  id: 'c1',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }],
});

/** A model server, which also is an http proxy: it records the URL and the Authorization header of each request. */
async function modelServer(status = 200) {
  const seen: { readonly url: string | undefined; readonly authorization: string | undefined }[] = [];
  const server = createServer((request, response) => {
    seen.push({ url: request.url, authorization: request.headers.authorization });
    request.resume().on('end', () => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(status === 200 ? completion : '{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, seen };
}

const CHAT = ['chat', '-m', 'm', 'hi'];
const REMOTE = 'http://gpu.example.com:8000';

describe('a server without a key', () => {
  it('on loopback needs no login; a credential that is set is sent', async () => {
    const { url, seen } = await modelServer();
    const env = { SVC_BASE_URL: url };
    expect((await runBuilt(CHAT, { env })).code).toBe(0);
    expect((await runBuilt(CHAT, { env: { ...env, SVC_TOKEN: 'tok-1\r\n' } })).code).toBe(0);
    expect(seen.map(({ authorization }) => authorization)).toEqual([undefined, 'Bearer tok-1']);
    expect((await runBuilt([...CHAT, '--curl'], { env })).stdout).not.toContain('Authorization');
    const missing = await modelServer(404);
    expect((await runBuilt(CHAT, { env: { SVC_BASE_URL: `${missing.url}/api/v1` } })).stderr).toContain(
      `check the base URL (SVC_BASE_URL) and the model (-m; ${missing.url}/api/v1/models lists them): the request went to`,
    );
    const { stdout } = await runBuilt(['doctor', '--json'], { env });
    expect(JSON.parse(stdout).verdict).toBe('ready, if the server has them, for chats, training and feedback');
    const named = await runBuilt(['doctor', '--json'], { env: { SVC_CHAT_BASE_URL: url } });
    expect(JSON.parse(named.stdout).verdict).toBe('ready for chats; no base URL for training and feedback');
    const probe = await runBuilt(['doctor', '--json', '--probe'], { env: { ...env, SVC_PROJECT_ID: 'acme/bot' } });
    expect(JSON.parse(probe.stdout)).toMatchObject({
      verdict: 'ready, if the server has them, for chats and training; the probe failed for feedback',
      probe: { failed: true },
    });
    const verdicts: [object, string][] = [
      [{ SVC_TOKEN: 'tok-1' }, 'ready for chats and training; no credentials for feedback'],
      [{ SVC_USERNAME: 'api', SVC_PASSWORD: 'pw-1' }, 'ready for feedback; no credentials for chats and training'],
      [{ SVC_TOKEN: 'tok-1', SVC_USERNAME: 'api', SVC_PASSWORD: 'pw-1' }, 'ready for chats, training and feedback'],
      [{ SVC_TOKEN: 'tok-1', SVC_TRACE_BASE_URL: (await modelServer()).url }, 'ready for chats, training and feedback'],
    ];
    for (const [credentials, verdict] of verdicts) {
      const doctor = await runBuilt(['doctor', '--json'], { env: { ...env, ...credentials } });
      expect([credentials, JSON.parse(doctor.stdout).verdict]).toEqual([credentials, verdict]);
    }
    const cwd = temporaryDirectory();
    expect((await runBuilt(['profile', 'set', 'default', '--trace-auth', 'bearer'], { cwd })).code).toBe(0);
    const bearer = await runBuilt(['doctor', '--json'], { cwd, env: { ...env, SVC_TOKEN: 'tok-1' } });
    expect(JSON.parse(bearer.stdout).verdict).toBe('ready for chats, training and feedback');
  });

  it('elsewhere is recorded with --no-token, for this origin alone, and reached through ALL_PROXY', async () => {
    const { url, seen } = await modelServer();
    const cwd = temporaryDirectory();
    expect((await runBuilt(['auth', 'login', '--base-url', REMOTE, '--no-token'], { cwd })).code).toBe(0);
    expect((await runBuilt(['auth', 'status'], { cwd })).code).toBe(0);
    expect((await runBuilt(CHAT, { cwd, env: { all_proxy: url } })).code).toBe(0);
    expect(seen).toEqual([{ url: `${REMOTE}/v1/chat/completions`, authorization: undefined }]);
    const other = await runBuilt([...CHAT, '--base-url', 'https://other.example.com'], { cwd });
    expect(other.code).toBe(4);
    const both = await runBuilt(['auth', 'login', '--base-url', REMOTE, '--no-token', '--token-stdin'], {
      cwd,
      stdin: 't',
    });
    expect([both.code, both.stderr]).toEqual([2, expect.stringContaining('--no-token cannot be combined')]);
  });

  it('replaces a stored credential only when asked to, and says so', async () => {
    const cwd = temporaryDirectory();
    const profile = () => JSON.parse(readFileSync(join(cwd, 'config/config.json'), 'utf8')).profiles.default;
    const login = (args: string[], stdin = '') =>
      runBuilt(['auth', 'login', ...args], { cwd, stdin, env: { SVC_CONFIG_DIR: 'config' } });
    await login(['--base-url', REMOTE, '--token-stdin'], 'tok-1');
    expect((await login(['--token-stdin'], '')).code).toBe(4);
    expect(profile().token).toBe('tok-1');
    const moved = await login(['--base-url', 'https://b.example.com', '--no-token']);
    expect(moved.stderr).toContain(`replacing base_url of profile "default": ${REMOTE} becomes https://b.example.com`);
    expect(moved.stderr).toContain('replacing the stored token');
    expect(profile()).toMatchObject({ open_origins: ['https://b.example.com'] });
    expect(profile().token).toBeUndefined();
  });
});

describe.skipIf(!hasTerminal)('login at a terminal (skipped where `script` of util-linux is missing)', () => {
  it('asks what the server is for, and an empty token means that it needs none', async () => {
    const cwd = temporaryDirectory();
    const { code, screen } = await runOnTerminal(['auth', 'login', '--base-url', REMOTE], {
      cwd,
      typed: [
        ['What is the server for?', 'chats\r'],
        ['Token for chat (empty for none)', '\r'],
      ],
    });
    expect([code, screen]).toEqual([0, expect.stringContaining('without credentials')]);
    expect(screen).not.toContain('User name');
    expect((await runBuilt(['auth', 'status'], { cwd })).stdout).toContain(REMOTE);
  });

  it('keeps a stored token when the answer is empty', async () => {
    const cwd = temporaryDirectory();
    await runBuilt(['auth', 'login', '--base-url', REMOTE, '--token-stdin'], {
      cwd,
      stdin: 'tok-1',
      env: { SVC_CONFIG_DIR: 'config' },
    });
    const { code } = await runOnTerminal(['auth', 'login'], {
      cwd,
      env: { SVC_CONFIG_DIR: 'config' },
      typed: [
        ['What is the server for?', 'chats, training\r'],
        ['(empty keeps the stored one)', '\r'],
      ],
    });
    expect(code).toBe(0);
    expect(readFileSync(join(cwd, 'config/config.json'), 'utf8')).toContain('tok-1');
  });
});

describe('what the environment and the command line say', () => {
  it.each([
    ['Bearer abc', 'starts with Bearer'],
    ['"a b"', 'is in quotes'],
    ['abc\n\n', 'ends in a line feed'],
    ['a b', 'contains a space'],
    ['"abc"', 'is in quotes'],
    ['$NAME', 'is the name of a variable'],
    ['${NAME}', 'is the name of a variable'],
    ['${{ secrets.X }}', 'is a placeholder'],
    ['{{token}}', 'is a placeholder'],
    ['<your-token>', 'is a placeholder'],
    ['file:///etc/token', 'is the path of a file'],
    ['~/token', 'is the path of a file'],
    ['/run/secrets/token', 'is the path of a file'],
    ['{"token":"abc"}', 'is JSON'],
  ])('a token %j %s: exit 4, also in a login', async (SVC_TOKEN, found) => {
    const { code, stderr } = await runBuilt(CHAT, { env: { SVC_TOKEN, SVC_BASE_URL: 'http://127.0.0.1:9' } });
    expect([code, stderr]).toEqual([4, expect.stringContaining(`the token from SVC_TOKEN ${found}`)]);
    if (/\n/.test(SVC_TOKEN)) return;
    const login = ['auth', 'login', '--token-stdin', '--base-url', 'http://127.0.0.1:9'];
    const stored = await runBuilt(login, { cwd: temporaryDirectory(), stdin: SVC_TOKEN, env: { SVC_CONFIG_DIR: 'c' } });
    expect([stored.code === 0, stored.stderr]).toEqual([false, expect.stringContaining(found)]);
  });

  it.each(['/9j/4AAQ+a==', 'tok-1', 'a.b~c', 'sk_$x'])('a token %s is sent', async (SVC_TOKEN) => {
    const { url } = await modelServer(200);
    expect((await runBuilt(CHAT, { env: { SVC_TOKEN, SVC_BASE_URL: url } })).code).toBe(0);
  });

  it.each(['0', '1d', '1h30m', '2m30s', '.5h', '0s', '1h1m1s1ms'])('--timeout %s', async (timeout) => {
    expect((await runBuilt([...CHAT, '--local', '--timeout', timeout])).code).toBe(0);
  });

  it.each(['', 'm', '30m1h', '1x', '-1s', '1h 30m'])('--timeout %j is exit 2', async (timeout) => {
    expect((await runBuilt([...CHAT, '--local', `--timeout=${timeout}x`])).code).toBe(2);
  });

  it.each([
    ['.5', '0.5'],
    ['+0.5', '0.5'],
    ['+.5', '0.5'],
  ])('--temperature %s is %s', async (typed, sent) => {
    const { stdout } = await runBuilt([...CHAT, '--temperature', typed, '--dry-run']);
    expect(stdout).toContain(`"temperature":${sent}`);
  });

  it.each(['0', 'false', 'no', 'False'])('CI=%s is not a CI', async (CI) => {
    const { stderr } = await runBuilt(['profile', 'remove', 'x'], { env: { CI } });
    expect(stderr).not.toContain('CI set');
  });

  it('a home that cannot be read is a note if the environment has everything', async () => {
    const { url } = await modelServer();
    const line = `mkdir config; echo '{}' >config/config.json; chmod 700 config; asNobody chat -m m hi`;
    const env = { SVC_BASE_URL: url, SVC_CONFIG_DIR: 'config' };
    const { code, stderr } = await inShell(`chmod 755 .; ${line}`, { env });
    if (process.getuid?.() === 0) expect([code, stderr]).toEqual([0, expect.stringContaining('the environment alone')]);
  });

  it('bash completes under set -u', async () => {
    const { stdout, stderr } = await inShell(
      'set -u; eval "$(set -- completion bash; svc completion bash)"; COMP_LINE="svc cha" COMP_POINT=7 COMP_CWORD=1; COMP_WORDS=(svc cha); command() { echo commands; echo chat; }; _svc svc cha svc; echo "${COMPREPLY[@]}"',
    );
    expect([stdout.trim(), stderr]).toEqual(['chat', '']);
  });

  it('Node 12 can parse bin/svc.js, which prints that it needs a later one', () => {
    const text = readFileSync(program, 'utf8');
    const withoutWhitespace = (target: string) =>
      transformSync(text, { target, minifyWhitespace: true, supported: { 'dynamic-import': true } }).code;
    // What Node 12 cannot parse, esbuild would rewrite for it.
    expect(withoutWhitespace('node12')).toBe(withoutWhitespace('esnext'));
  });
});
