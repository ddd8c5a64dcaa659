import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { runBuilt } from '../support/built.ts';
import { temporaryDirectory } from '../support/svc.ts';

const SECRET = 'secret-of-the-variable';
const TOKEN = ['--token-env', 'MODEL_KEY'];

// Echoes the Authorization header in an error.
async function echoServer(): Promise<string> {
  const server = createServer((request, response) => {
    const { authorization = 'none' } = request.headers;
    request
      .resume()
      .on('end', () => response.writeHead(400).end(JSON.stringify({ error: { message: authorization } })));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it('a variable that a flag names holds the token: it is sent, redacted, shown by name, and unset an error', async () => {
  const env = { SVC_BASE_URL: await echoServer(), SVC_TOKEN: 'other-token', MODEL_KEY: SECRET };
  const chat = await runBuilt(['chat', '-m', 'm', ...TOKEN, 'hi'], { env });
  expect(chat.stderr).toContain('Bearer [redacted]');
  expect(chat.stderr).not.toContain(SECRET);
  const curl = await runBuilt(['chat', '-m', 'm', ...TOKEN, '--curl', 'hi'], { env });
  expect(curl.stdout).toContain('Bearer $MODEL_KEY');
  const doctor = await runBuilt(['doctor', '--json', ...TOKEN], { env });
  expect(JSON.stringify(JSON.parse(doctor.stdout))).toMatch(/"bearer","value":"a token[^}]*"source":"MODEL_KEY"/);
  const unset = await runBuilt(['chat', '-m', 'm', '--token-env', 'NOT_SET', 'hi'], { env });
  expect([unset.code, unset.stderr]).toEqual([
    4,
    expect.stringContaining('--token-env names NOT_SET, which is not set'),
  ]);
});

it('a message that quotes the value of that variable redacts it before anything is sent', async () => {
  const { code, stderr } = await runBuilt(['chat', ...TOKEN, '--timeout', SECRET, 'hi'], {
    env: { SVC_BASE_URL: 'http://127.0.0.1:1', MODEL_KEY: SECRET },
  });
  expect(code).toBe(2);
  expect(stderr).not.toContain(SECRET);
});

it('a credential command sees none of the variables with secrets', async () => {
  const cwd = temporaryDirectory();
  const url = await echoServer();
  const print = join(cwd, 'print.sh');
  const { writeFileSync } = await import('node:fs');
  writeFileSync(
    print,
    '#!/bin/sh\nprintf %s "seen-$SVC_PASSWORD-$SVC_USERNAME-$PGPASSWORD-$MODEL_KEY-end" | tee seen\n',
    { mode: 0o700 },
  );
  await runBuilt(
    ['profile', 'set', 'default', '--trace-base-url', url, '--username', 'ada', '--credential-command', print],
    { cwd },
  );
  const env = { MODEL_KEY: SECRET, PGPASSWORD: 'database-secret' };
  const args = ['feedback', 'schema', '--project-id', 'a/b', '--since', '7d', ...TOKEN];
  const { stderr } = await runBuilt(args, { cwd, env });
  expect(stderr).not.toMatch(/database-secret|secret-of/);
  const { readFileSync } = await import('node:fs');
  expect(readFileSync(join(cwd, 'config', 'seen'), 'utf8')).toBe('seen-----end');
});
