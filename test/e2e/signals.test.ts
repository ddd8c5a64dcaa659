import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { start, waitForExit } from '../support/process.ts';
import { httpAnswer, rawServer } from '../support/raw-server.ts';
import { temporaryDirectory } from '../support/svc.ts';

const env = { SVC_USERNAME: 'api', SVC_PASSWORD: 'pass-word-1', SVC_TOKEN: 'tok-en-1' };
const json = ['--error-format', 'json'];
const head = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n';
const delta = 'data: {"choices":[{"index":0,"delta":{"content":"half"},"finish_reason":null}]}\n\n';
const codes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

function lastError(stderr: string): object {
  return JSON.parse(stderr.trim().split('\n').at(-1) ?? '').error;
}

describe.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('%s', (signal) => {
  it('while a regular expression takes forever', async () => {
    const child = start(['chat', `${'a'.repeat(40)}b`, '--local', '--no-stdin', '--expect-text', '(a+)+$', '-q']);
    // The response is printed before it is checked, so a signal may also come too early.
    child.stdout?.once('data', () => {
      const again = setInterval(() => child.kill(signal), 50);
      child.once('exit', () => clearInterval(again));
    });
    expect(await waitForExit(child)).toMatchObject({ code: codes[signal] });
  });

  it('while a request is sent: it was not sent completely, nothing was applied', async () => {
    const cwd = temporaryDirectory();
    const text = 'x'.repeat(30_000_000);
    writeFileSync(join(cwd, 'body.json'), `{"messages":[{"role":"user","content":"${text}"}]}`);
    const url = await deafServer(() => child.kill(signal));
    const child = start(['chat', '-f', 'body.json', ...json], { cwd, env: { ...env, SVC_BASE_URL: url } });
    const { code, stderr } = await waitForExit(child);
    expect(code, stderr).toBe(codes[signal]);
    expect(lastError(stderr)).toMatchObject({ applied: 'no', phase: 'part', exit_code: codes[signal] });
  });

  it('while a response is received: it was applied, and the partial output is kept', async () => {
    const server = await rawServer((socket) => {
      socket.write(head + delta);
    });
    const child = start(['chat', 'x', '--stream', '--no-stdin', ...json], {
      env: { ...env, SVC_BASE_URL: server.url },
    });
    child.stdout?.once('data', () => child.kill(signal));
    const { code, stdout, stderr } = await waitForExit(child);
    expect({ code, stdout }).toEqual({ code: codes[signal], stdout: 'half\n' });
    expect(lastError(stderr)).toMatchObject({ applied: 'yes', exit_code: codes[signal] });
  });

  it('while the body of an error is received: the outcome is that of its status', async () => {
    const server = await rawServer((socket) => {
      socket.write('HTTP/1.1 500 Internal Server Error\r\nContent-Length: 9\r\n\r\n{');
    });
    const child = start(['chat', 'x', '--no-stdin', '-v', ...json], { env: { ...env, SVC_BASE_URL: server.url } });
    child.stderr?.on('data', (text) => String(text).includes('< 500') && child.kill(signal));
    const end = await waitForExit(child);
    expect(end, end.stderr).toMatchObject({ code: codes[signal], signal });
    expect(lastError(end.stderr)).toMatchObject({ applied: 'unknown', status: 500, exit_code: codes[signal] });
  });

  it('while it waits for a retry: reports the outcome of earlier attempts', async () => {
    const server = await rawServer((socket) => socket.end(httpAnswer('{}', '429 No', 'Retry-After: 30\r\n')));
    const child = start(['chat', 'x', '--no-stdin', ...json], { env: { ...env, SVC_BASE_URL: server.url } });
    child.stderr?.once('data', () => child.kill(signal));
    const end = await waitForExit(child);
    // The process ends by the signal itself, which is what a shell expects.
    expect(end, end.stderr).toMatchObject({ code: codes[signal], signal });
    expect(lastError(end.stderr)).toMatchObject({ applied: 'no', attempts: 1 });
  });
});

it('a second signal ends at once, also while nothing can be written', async () => {
  const answer = httpAnswer(`{"choices":[{"message":{"content":"${'x'.repeat(8_000_000)}"}}]}`);
  const server = await rawServer((socket) => socket.end(answer));
  const child = start(['chat', 'x', '--no-stdin'], { env: { ...env, SVC_BASE_URL: server.url } });
  // Nobody reads more than what a pipe holds.
  const [first] = await once(child.stdout ?? child, 'readable').then(() => [child.stdout?.read(1)]);
  expect(first).toBeTruthy();
  // Two equal signals may be merged.
  child.kill('SIGINT');
  child.kill('SIGTERM');
  const [, signal] = await once(child, 'exit');
  expect(['SIGINT', 'SIGTERM']).toContain(signal);
});

describe('a stream that is stopped by its user', () => {
  it('closes the socket', async () => {
    const closed: Promise<unknown>[] = [];
    const server = await rawServer((socket: Socket) => {
      closed.push(closing(socket));
      socket.write(head + delta);
    });
    const child = start(['chat', 'x', '--stream', '--no-stdin'], { env: { ...env, SVC_BASE_URL: server.url } });
    child.stdout?.once('data', () => child.kill('SIGINT'));
    expect((await waitForExit(child)).code).toBe(130);
    await Promise.all(closed);
    expect(closed).toHaveLength(1);
  });

  it('by closing the pipe too, at the next chunk', async () => {
    const closed: Promise<unknown>[] = [];
    const server = await rawServer((socket: Socket) => {
      const timer = setInterval(() => socket.write(delta), 20);
      closed.push(closing(socket).then(() => clearInterval(timer)));
      socket.write(head + delta);
    });
    const child = start(['chat', 'x', '--stream', '--no-stdin'], { env: { ...env, SVC_BASE_URL: server.url } });
    child.stdout?.once('data', () => child.stdout?.destroy());
    expect(await waitForExit(child)).toMatchObject({ code: 0, stderr: '' });
    await Promise.all(closed);
    expect(closed).toHaveLength(1);
  });
});

// However it ends, a reset included.
function closing(socket: Socket): Promise<void> {
  return new Promise((resolve) => void socket.once('close', () => resolve()));
}

// A server that reads only the start of a request, so that the sender cannot finish.
async function deafServer(heard: () => void): Promise<string> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket.on('error', () => {}));
    socket.once('data', () => {
      socket.pause();
      heard();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`;
}
