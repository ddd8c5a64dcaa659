import { spawn, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runBuilt } from '../support/built.ts';
import { waitForExit } from '../support/process.ts';
import { bodyOf, httpAnswer, rawServer } from '../support/raw-server.ts';
import { temporaryDirectory } from '../support/svc.ts';

const secrets = { SVC_USERNAME: 'api', SVC_PASSWORD: 'pass-word-1', SVC_TOKEN: 'tok-en-1', SVC_CACHE_SALT: 's4lt' };
const shells = ['sh', 'bash', 'zsh'].filter((shell) => !spawnSync(shell, ['-c', ':']).error);
const hasCurl = !spawnSync('curl', ['--version']).error;

/** The request that arrives when a shell runs the command that --curl prints. */
async function arrived(shell: string, args: readonly string[], stdin = ''): Promise<{ head: string; body: string }> {
  const server = await rawServer((socket) => socket.end(httpAnswer('{}')));
  const printed = await runBuilt([...args, '--curl', '--no-check', '-q'], {
    stdin,
    env: { SVC_BASE_URL: server.url, ...secrets },
  });
  expect(printed).toMatchObject({ code: 0, stderr: '' });
  const script = join(temporaryDirectory(), 'request.sh');
  writeFileSync(script, printed.stdout);
  const child = spawn(shell, [script], { env: { PATH: process.env.PATH ?? '', X_API_KEY: "k'e$y", ...secrets } });
  expect(await waitForExit(child)).toMatchObject({ code: 0, stdout: '{}', stderr: '' });
  const [request = Buffer.alloc(0)] = server.received;
  return { head: request.toString('latin1', 0, request.indexOf('\r\n\r\n')), body: bodyOf(request).toString() };
}

describe.runIf(hasCurl).each(shells)('the curl command in %s', (shell) => {
  const text = 'x'.repeat(200_000);

  it.each<[string, string]>([
    ['quotes of every kind', `{"messages":["it's","\\"","\\\\","\`id\`","$HOME","$(id)","!!","%s%d"]}`],
    ['whitespace around it and a final line end', '\r\n\t{"messages":[]}\n\n'],
    ['what looks like our own marks', '{"messages":["\\u0001SVC_TOKEN\\u0001","secret-cache_salt","SVC_BODY"]}'],
    ['other scripts', '{"messages":["é 日本 😀 \u0080\u0085"]}'],
    ['what is too long for an argument', `{"messages":["it's ${text}\\nSVC_BODY\\n"]}`],
    ['that with a line end', `{"messages":["${text}"]}\n`],
  ])('sends a body byte for byte: %s', async (_, body) => {
    expect((await arrived(shell, ['chat', '--exact'], body)).body).toBe(body);
  });

  it.each(['', text])('reads secrets from variables, in short bodies and long ones', async (more) => {
    const body = (salt: string): string =>
      `{"messages":["secret-cache_salt","secret--cache_salt","${more}"],"cache_salt":"${salt}"}`;
    expect((await arrived(shell, ['chat', '--exact'], body('hidden'))).body).toBe(body('s4lt'));
  });

  it('sends the headers and the credential', async () => {
    const header = ['-H', "X-Note: it's $HOME `id`", '-H', 'X-Empty:', '-H', 'X-Api-Key: typed', '-H', 'X-`id`: 1'];
    const { head } = await arrived(shell, ['chat', 'x', '--no-stdin', ...header]);
    const lines = head.split('\r\n');
    expect(lines[0]).toBe('POST /v1/chat/completions HTTP/1.1');
    expect(lines).toEqual(
      expect.arrayContaining([
        'Content-Type: application/json',
        'Authorization: Bearer tok-en-1',
        "X-Note: it's $HOME `id`",
        "X-Api-Key: k'e$y",
        'X-`id`: 1',
      ]),
    );
    expect(lines.some((line) => /^X-Empty: ?$/.test(line))).toBe(true);
    expect((await arrived(shell, ['feedback', 'schema'], '{}')).head).toContain(
      `\r\nAuthorization: Basic ${btoa('api:pass-word-1')}`,
    );
  });
});
