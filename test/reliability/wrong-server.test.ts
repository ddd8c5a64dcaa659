import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { contents, selfSigned } from '../support/certificates.ts';
import { run } from '../support/process.ts';
import { httpAnswer, rawServer } from '../support/raw-server.ts';
import { secureServer } from '../support/secure-servers.ts';
import { callStart, temporaryDirectory } from '../support/svc.ts';

const groups = new URL('../demo/groups.jsonl', import.meta.url).pathname;
const train = ['train', '--model-id', '0190b5c0-0000-7000-8000-000000000001', groups];
const chat = ['chat', 'hi', '-m', 'm'];
const credentials = { SVC_TOKEN: 'tok-en-1', SVC_USERNAME: 'api', SVC_PASSWORD: 'pass-word-1', SVC_RETRIES: '0' };

describe('an HTML page with status 200', () => {
  const page = '<!DOCTYPE html>\n<html><head><title>\n Sign  in</title></head><body>Who are you?</body></html>\n';
  const text = 'returned an HTML page (title "Sign in"): a proxy or login page responded, probably not the service';
  const pageServer = (): ReturnType<typeof rawServer> =>
    rawServer((socket) => socket.end(httpAnswer(page, '200 OK', 'Content-Type: text/html\r\n')));

  it.each([
    ['a call', callStart],
    ['a chat', chat],
    ['a chat as JSON', [...chat, '--json']],
    ['a streamed chat', [...chat, '--format', 'jsonl']],
    ['a chat with a filter', [...chat, '--jq', '.id']],
    ['a chat with a conversation', [...chat, '--conversation', 'talk.json']],
    ['a training job', train],
    ['a schema', ['feedback', 'schema', '--project-id', 'a/b', '--since', '1d']],
    ['/dev/stdout', [...chat, '-o', '/dev/stdout']],
  ])('%s: exit 11, outcome unknown, nothing on stdout', async (_, args) => {
    const { url, received } = await pageServer();
    const env = { ...credentials, SVC_BASE_URL: url };
    const { code, stdout, stderr } = await run([...args, '--error-format', 'json'], { env });
    const { error } = JSON.parse(stderr.trim().split('\n').at(-1) ?? '');
    expect({ code, stdout }, stderr).toEqual({ code: 11, stdout: '' });
    expect(error).toMatchObject({ message: `${url} ${text}`, applied: 'unknown', exit_code: 11, retryable: false });
    expect(error.hint).toContain(`check the base URL (SVC_BASE_URL): the request went to ${url}/`);
    expect(received).toHaveLength(1);
  });

  it('-o keeps the page in FILE.partial, and the file as it was', async () => {
    const { url } = await pageServer();
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'o.json'), 'old');
    const { code, stderr } = await run([...callStart, '-o', 'o.json'], {
      cwd,
      env: { ...credentials, SVC_BASE_URL: url },
    });
    expect(code, stderr).toBe(11);
    expect(stderr).toContain('the partial output is in o.json.partial');
    expect(stderr).not.toContain('the request was applied');
    expect(readFileSync(join(cwd, 'o.json'), 'utf8')).toBe('old');
    expect(readFileSync(join(cwd, 'o.json.partial'), 'utf8')).toBe(page);
  });

  it.each([
    ['of chats', ['chat', '-m', 'm'], {}],
    ['of streamed chats', ['chat', '-m', 'm'], { stream: true }],
  ])('a batch %s: the line is unknown', async (_, command, more) => {
    const { url } = await pageServer();
    const line = JSON.stringify({ messages: [{ role: 'user', content: 'hi' }], ...more });
    const args = [...command, '--batch', '-', '-o', 'out.jsonl'];
    const cwd = temporaryDirectory();
    const { code, stderr } = await run(args, { cwd, stdin: `${line}\n`, env: { ...credentials, SVC_BASE_URL: url } });
    const entry = JSON.parse(readFileSync(join(cwd, 'out.jsonl'), 'utf8'));
    expect(code, stderr).toBe(10);
    expect(stderr).toContain('0 done, 0 failed, 1 unknown');
    expect(entry).toMatchObject({ exit_code: 11, applied: 'unknown', error: { message: `${url} ${text}` } });
  });

  it('the same training job is not sent again by mistake', async () => {
    const { url } = await pageServer();
    const setting = { cwd: temporaryDirectory(), env: { ...credentials, SVC_BASE_URL: url } };
    expect(await run(train, setting)).toMatchObject({ code: 11 });
    const { code, stderr } = await run(train, setting);
    expect(code, stderr).toBe(13);
    expect(stderr).toContain('may have been applied');
  });

  it('a spooled call stays in the spool', async () => {
    const { url } = await pageServer();
    const setting = { cwd: temporaryDirectory(), env: { ...credentials, SVC_BASE_URL: url } };
    await run(['call', 'run', '--spool', '--project-id', 'a/b', '--', 'true'], setting);
    const { code, stdout } = await run(['call', 'flush'], setting);
    expect(code).toBe(10);
    expect(JSON.parse(stdout)).toMatchObject({ sent: 0, remaining: 1 });
  });
});

describe('http to a port that speaks TLS', () => {
  const tlsPort = (): ReturnType<typeof secureServer> =>
    secureServer(contents(selfSigned(temporaryDirectory(), 'server', 'DNS:localhost')));

  it.each([
    ['a call', callStart],
    ['a chat', chat],
    ['a streamed chat', [...chat, '--format', 'jsonl']],
    ['a training job', train],
  ])('%s: the message names the https URL', async (_, args) => {
    const { port, seen } = await tlsPort();
    const env = { ...credentials, SVC_BASE_URL: `http://127.0.0.1:${port}` };
    const { code, stdout, stderr } = await run(args, { env });
    expect({ code, stdout, seen }, stderr).toEqual({ code: 8, stdout: '', seen: [] });
    expect(stderr).toContain(`the port may speak TLS, so try https://127.0.0.1:${port}\n`);
  });

  it('in a batch', async () => {
    const { port } = await tlsPort();
    const env = { ...credentials, SVC_BASE_URL: `http://127.0.0.1:${port}` };
    const stdin = '{"messages":[{"role":"user","content":"hi"}]}\n';
    const { code, stdout, stderr } = await run(['chat', '-m', 'm', '--batch', '-'], { env, stdin });
    expect(code, stderr).toBe(10);
    expect(JSON.parse(stdout).error.message).toContain(`the port may speak TLS, so try https://127.0.0.1:${port}`);
  });

  it('a server that answers with a TLS alert', async () => {
    const { url } = await rawServer((socket) => socket.end(Buffer.from([0x15, 3, 3, 0, 2, 2, 70])));
    const { code, stderr } = await run(chat, { env: { ...credentials, SVC_BASE_URL: url } });
    expect(code, stderr).toBe(8);
    expect(stderr).toContain(`the port may speak TLS, so try ${url.replace('http:', 'https:')}`);
  });

  it('a web server that says so with a 400', async () => {
    const page = '<html><head><title>400 The plain HTTP request was sent to HTTPS port</title></head></html>';
    const { url } = await rawServer((socket) => socket.end(httpAnswer(page, '400 Bad Request')));
    const { code, stderr } = await run(chat, { env: { ...credentials, SVC_BASE_URL: url } });
    expect(code, stderr).toBe(5);
    expect(stderr).toContain(`use ${url.replace('http:', 'https:')} as the base URL (--base-url)`);
  });

  it.each([
    ['after the headers', 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n'],
    ['with other bytes', 'SSH-2.0-OpenSSH_9.6\r\n'],
  ])('a connection that ends %s suggests nothing', async (_, bytes) => {
    const { url } = await rawServer((socket) => socket.end(bytes));
    const { code, stderr } = await run(chat, { env: { ...credentials, SVC_BASE_URL: url } });
    expect(code, stderr).toBe(8);
    expect(stderr).not.toContain('TLS');
  });
});
