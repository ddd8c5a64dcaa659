import { once } from 'node:events';
import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ExchangeSignal, HttpResponse } from '../../src/http/message.ts';
import { TimeLimitError } from '../../src/http/time-limits.ts';
import { openHttpTransport } from '../../src/http/transport.ts';
import { createUpstream, type Upstream } from '../../src/local-service/upstream.ts';
import { type Clock, clock } from '../support/clock.ts';
import { serve } from '../support/process.ts';
import { rawClient } from '../support/raw-client.ts';
import { rawServer } from '../support/raw-server.ts';

const started =
  'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n';
const question = '{"messages":[{"role":"user","content":"x"}]}';

const path = '/v1/chat/completions';
const asked = {
  method: 'POST',
  body: Buffer.from(question),
  headers: [],
} as const;

/** An upstream server that sends something and then nothing; `asked` is its connection once it has a request. */
async function silent(first: string): Promise<{ url: string; asked: Promise<Socket> }> {
  let ask = (_socket: Socket): void => {};
  const asked = new Promise<Socket>((resolve) => {
    ask = resolve;
  });
  const { url } = await rawServer((socket) => {
    socket.write(first);
    ask(socket);
  });
  return { url, asked };
}

function upstream(url: string, { after }: Clock): Upstream {
  const line = openHttpTransport({ tls: {} });
  onTestFinished(line.close);
  return createUpstream(new URL(url), undefined, line.send, after);
}

describe('svc serve --upstream', () => {
  it.each([
    ['before the answer', '', /^$/],
    ['in the answer', started, /data: 1/],
  ])('cancels its own request when the client disconnects %s', async (_, first, wanted) => {
    const server = await silent(first);
    const { url } = await serve(['--no-auth', '--upstream', server.url]);
    const head = `POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${question.length}\r\n\r\n`;
    const client = await rawClient(new URL(url).port, head + question);
    const socket = await server.asked;
    await client.until(wanted);
    client.socket.destroy();
    await once(socket, 'close');
  });
});

describe('an upstream server', () => {
  it('that compresses unasked is understood', async () => {
    const packed = gzipSync('{"choices":[]}');
    const server = await rawServer((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${packed.length}\r\n\r\n`);
      socket.end(packed);
    });
    const reply = await upstream(server.url, clock())(path, asked);
    const pieces: string[] = [];
    await read(reply, pieces);
    expect([reply.headers, pieces.join('')]).toEqual([[], '{"choices":[]}']);
  });

  it.each(['POST /v1/chat/completions', 'GET /v1/models', 'GET /v1/models/org%2Fa'])(
    'gets %s unchanged, and alone validates it',
    async (line) => {
      const server = await rawServer((socket) => socket.end('HTTP/1.1 418 Teapot\r\nContent-Length: 2\r\n\r\nno'));
      const { url } = await serve(['--no-auth', '--upstream', server.url]);
      const [method = '', path = ''] = line.split(' ');
      const odd = Buffer.from('[1,{"tool_choice":"auto","n":0,"stop":"x"},\xff', 'latin1');
      const headers = { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip', Cookie: 'a=b' };
      const response = await fetch(url + path, { method, headers, ...(method === 'POST' && { body: odd }) });
      expect([response.status, await response.text()]).toEqual([418, 'no']);
      const received = server.received[0]?.toString('latin1') ?? '';
      expect(received.startsWith(`${line} HTTP`)).toBe(true);
      expect(received).not.toContain('a=b');
      if (method === 'POST') expect(received).toMatch(/Content-Encoding: gzip.*\xff$/is);
    },
  );

  it('that repeats the token does not reveal it, even between two chunks', async () => {
    const token = 'up-stream-token';
    const server = await rawServer((socket) => {
      socket.write('HTTP/1.1 401 Unauthorized\r\nX-Request-Id: up-stream-token\r\nTransfer-Encoding: chunked\r\n\r\n');
      socket.write('b\r\n{"a":"up-st\r\n');
      socket.end(`${(26).toString(16)}\r\nream-token up-stream-tok"}\r\n0\r\n\r\n`);
    });
    const { url } = await serve(['--no-auth', '--upstream', server.url], { env: { SVC_UPSTREAM_TOKEN: token } });
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: question,
    });
    expect(await response.text()).toBe('{"a":"[redacted] up-stream-tok"}');
    // One header: its values would be joined with a comma.
    expect(response.headers.get('x-request-id')).toBe('[redacted]');
  });

  it.each([
    ['says nothing', '', 'the server closed the connection'],
    ['sends no HTTP', 'hello\n', 'HTTP'],
  ])('that %s and closes the connection counts as reached', async (_, said, reason) => {
    const server = await rawServer((socket) => socket.end(said));
    const { url } = await serve(['--no-auth', '--upstream', server.url]);
    const headers = { 'Content-Type': 'application/json' };
    const response = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body: question });
    expect(response.status).toBe(502);
    const text = await response.text();
    expect(text).toContain(`the upstream server at ${server.url} sent no valid response: `);
    expect(text).toContain(reason);
  });

  it.each(['x', 'none', 'EMPTY'])('leaves bodies unchanged with the token %s', async (token) => {
    const text = '{"x":"none of it is EMPTY"}';
    const server = await rawServer((socket) => socket.end(`HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n${text}`));
    const { url } = await serve(['--no-auth', '--upstream', server.url], { env: { SVC_UPSTREAM_TOKEN: token } });
    const headers = { 'Content-Type': 'application/json' };
    const response = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body: question });
    expect(await response.text()).toBe(text);
  });

  it('that does not respond for 600 s is given up', async () => {
    const time = clock();
    const server = await silent('');
    const outcome = upstream(server.url, time)(path, asked).catch((error: unknown) => error);
    const socket = await server.asked;
    time.advance(599_999);
    time.advance(1);
    expect(await outcome).toMatchObject({ name: 'HttpError', status: 504, message: expect.stringContaining('600 s') });
    await once(socket, 'close');
  });

  it('that is silent for 120 s during its response causes a cut response', async () => {
    const time = clock();
    const server = await silent(started);
    const reply = await upstream(server.url, time)(path, asked);
    const socket = await server.asked;
    const pieces: string[] = [];
    const outcome = read(reply, pieces).catch((error: unknown) => error);
    await time.settled(() => pieces.length > 0 && time.pending() === 1);
    time.advance(120_000);
    expect(await outcome).toBeInstanceOf(TimeLimitError);
    await once(socket, 'close');
  });

  it('that cannot be reached within 10 s is given up', async () => {
    const time = clock();
    const never = (): Promise<HttpResponse> => new Promise(() => {});
    const answer = createUpstream(
      new URL('http://svc.test'),
      undefined,
      ({ signal }) => Promise.race([never(), rejected(signal)]),
      time.after,
    );
    const outcome = answer(path, asked).catch((error: unknown) => error);
    time.advance(10_000);
    expect(await outcome).toMatchObject({ name: 'HttpError', status: 502 });
  });
});

async function read({ body }: HttpResponse, pieces: string[]): Promise<void> {
  for await (const piece of body) pieces.push(Buffer.from(piece).toString());
}

async function rejected(signal: ExchangeSignal | undefined): Promise<never> {
  if (signal && !signal.aborted)
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
  throw signal?.reason;
}
