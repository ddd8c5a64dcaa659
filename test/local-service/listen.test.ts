import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { bodyChunks } from '../../src/http/body-chunks.ts';
import type { ExchangeSignal, Send } from '../../src/http/message.ts';
import { listenOnLoopback } from '../../src/local-service/listen.ts';
import {
  type LocalService,
  type LocalServiceOptions,
  openLocalService,
} from '../../src/local-service/open-local-service.ts';
import { textResponse } from '../../src/local-service/responses.ts';
import { after } from '../support/clock.ts';
import { rawClient } from '../support/raw-client.ts';
import { temporaryDirectory } from '../support/svc.ts';

const patience = { headMs: 60_000, bodyMs: 60_000, drainMs: 50 };

/** A service on a port, ended with the test. */
async function listening(
  more: Partial<typeof patience> = {},
  send?: Send,
): Promise<Awaited<ReturnType<typeof listenOnLoopback>> & { port: string }> {
  const served = send ? { send, observe: (next: Send) => next } : await service();
  const listener = await listenOnLoopback(served, 0, after, { ...patience, ...more });
  onTestFinished(() => listener.close());
  return { ...listener, port: new URL(listener.url).port };
}

// Not one that records what it is sent, because that would read every body.
async function service(onRequestEnd?: LocalServiceOptions['onRequestEnd']): Promise<LocalService> {
  const opened = await openLocalService(
    { databaseFile: join(temporaryDirectory(), 'svc.db'), onRequestEnd },
    { now: Date.now, randomBytes },
  );
  onTestFinished(opened.close);
  return opened;
}

const question = '{"messages":[{"role":"user","content":"x"}]}';
const json = 'Content-Type: application/json\r\n';
const host = 'Host: localhost\r\n';

/** A request as it goes over the wire. */
function request(body: string, { headers = host, line = 'POST /v1/chat/completions', length = true } = {}): Buffer {
  const size = length ? `Content-Length: ${Buffer.byteLength(body, 'latin1')}\r\n` : '';
  return Buffer.from(`${line} HTTP/1.1\r\n${headers}${json}${size}\r\n${body}`, 'latin1');
}

const chunked = `${host}Transfer-Encoding: chunked\r\n`;
const closing = `${host}Connection: close\r\n`;
const job = '"model_id":"0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05","trajectory_groups":[]';
const deep = (open: string, close: string, depth = 100_000): string => open.repeat(depth) + close.repeat(depth);
const feedback = (payload: string): string =>
  `{"project_id":"a/b","feedback_id":"f","feedback_type":"t","svc_ref":"svc:///a/b/object/n:v","payload":${payload}}`;

describe('over the wire', () => {
  it.each<[string, Uint8Array, RegExp]>([
    ['a request', request(question, { headers: closing }), /^HTTP\/1.1 200 OK.*"choices"/s],
    [
      'a body in chunks',
      request(
        `5\r\n${question.slice(0, 5)}\r\n${(question.length - 5).toString(16)};a=b\r\n${question.slice(5)}\r\n0\r\nX: y\r\n\r\n`,
        { headers: `${chunked}Connection: close\r\n`, length: false },
      ),
      /^HTTP\/1.1 200 OK/,
    ],
    ['a length and chunks', request(`0\r\n\r\n`, { headers: chunked }), /^HTTP\/1.1 400 Bad Request/],
    ['two lengths', request(question, { headers: `${host}Content-Length: 1\r\n` }), /^HTTP\/1.1 400 Bad Request/],
    ['a broken chunk', request('zz\r\n', { headers: chunked, length: false }), /^HTTP\/1.1 400 Bad Request/],
    ['no HTTP', Buffer.from('\x16\x03\x01 hello\r\n\r\n'), /^HTTP\/1.1 400 Bad Request/],
    ['a head without an end', Buffer.from(`POST / HTTP/1.1\r\n${host}X: ${'x'.repeat(100_000)}`), /^HTTP\/1.1 431 /],
    ['no host', request(question, { headers: '' }), /^HTTP\/1.1 400 Bad Request/],
    ['a foreign host', request(question, { headers: 'Host: evil.example\r\n' }), /^HTTP\/1.1 403 .*loopback/s],
    ['a host that is no host', request(question, { headers: 'Host: a b[\r\n' }), /^HTTP\/1.1 403 .*loopback/s],
    [
      'a foreign origin',
      request(question, { headers: `${host}Origin: http://evil.example\r\n` }),
      /^HTTP\/1.1 403 .*origins/s,
    ],
    [
      'two hosts',
      request(question, { headers: `${closing}Host: evil.example\r\n` }),
      /^HTTP\/1.1 400 .*more than one Host/s,
    ],
    [
      'a cross-site request',
      request(question, { headers: `${closing}Sec-Fetch-Site: cross-site\r\n` }),
      /^HTTP\/1.1 403 .*other sites/s,
    ],
    [
      'a second origin that is foreign',
      request(question, { headers: `${closing}Origin: http://localhost\r\nOrigin: http://evil.example\r\n` }),
      /^HTTP\/1.1 403 .*origins/s,
    ],
    [
      'a second site that is foreign',
      request(question, { headers: `${closing}Sec-Fetch-Site: same-origin\r\nSec-Fetch-Site: cross-site\r\n` }),
      /^HTTP\/1.1 403 .*other sites/s,
    ],
    [
      'a request of the page itself',
      request(question, { headers: `${closing}Sec-Fetch-Site: same-origin\r\n` }),
      /^HTTP\/1.1 200 OK/,
    ],
    [
      'a foreign absolute target',
      request(question, { line: 'POST http://evil.example/v1/chat/completions' }),
      /^HTTP\/1.1 403 .*loopback/s,
    ],
    [
      'an absolute target',
      request(question, { line: 'POST http://localhost/v1/chat/completions', headers: closing }),
      /^HTTP\/1.1 200 OK/,
    ],
    [
      'two slashes',
      request(question, { line: 'POST //evil/v1/chat/completions', headers: closing }),
      /^HTTP\/1.1 404 Not Found/,
    ],
    [
      'a target that is no address',
      request(question, { line: 'POST http://[/x', headers: closing }),
      /^HTTP\/1.1 400 Bad Request/,
    ],
    ['an asterisk', request('', { line: 'OPTIONS *', headers: closing }), /^HTTP\/1.1 400 Bad Request/],
    ['HEAD', request('', { line: 'HEAD /call/start', headers: closing }), /^HTTP\/1.1 405 .*Allow: POST(?!.*detail)/s],
    ['GET', request('', { line: 'GET /call/start', headers: closing }), /^HTTP\/1.1 405 .*Allow: POST.*detail/s],
    ['OPTIONS', request('', { line: 'OPTIONS /call/start', headers: closing }), /^HTTP\/1.1 405 .*Allow: POST/s],
    [
      'another expectation',
      request(question, { headers: `${host}Expect: a-miracle\r\nConnection: close\r\n` }),
      /^HTTP\/1.1 417 /,
    ],
    ['lists without an end', request(deep('[', '', 100_000), { headers: closing }), /^HTTP\/1.1 400 .*JSON/s],
    ['deep lists', request(deep('[', ']'), { headers: closing }), /^HTTP\/1.1 400 /],
    [
      'a deep payload',
      request(feedback(deep('{"a":', '}').replace('}', '1}')), { line: 'POST /feedback/replace', headers: closing }),
      /^HTTP\/1.1 200 OK/,
    ],
    [
      'a deep job',
      request(`{${job},"x":${deep('[', ']')}}`, { line: 'POST /v1/preview/training-jobs', headers: closing }),
      /^HTTP\/1.1 200 OK/,
    ],
    ['bytes that are no UTF-8', request('{"messages":"\xff\xfe"}', { headers: closing }), /^HTTP\/1.1 400 .*UTF-8/s],
    [
      'bytes that are no UTF-8, elsewhere',
      request('{"a":"\xc3"}', { line: 'POST /call/start', headers: closing }),
      /^HTTP\/1.1 422 .*UTF-8/s,
    ],
  ])('%s', async (_, bytes, wanted) => {
    const { port } = await listening();
    const client = await rawClient(port, bytes);
    expect(await client.closed).toMatch(wanted);
  });
});

describe('slow clients', () => {
  it.each<[string, Partial<typeof patience>, Uint8Array, RegExp]>([
    ['in a head', { headMs: 50 }, Buffer.from('POST /call/start HTTP/1.1\r\nHost: x'), /^HTTP\/1.1 408 /],
    ['in a body', { bodyMs: 50 }, request(question).subarray(0, -1), /^$/],
    ['in a chunk', { bodyMs: 50 }, request('5\r\nab', { headers: chunked, length: false }), /^$/],
    [
      'in what is refused',
      { bodyMs: 50 },
      request(question, { line: 'POST /nothing' }).subarray(0, -1),
      /^HTTP\/1.1 404 /,
    ],
  ])('%s are disconnected', async (_, more, bytes, wanted) => {
    const { port } = await listening(more);
    expect(await (await rawClient(port, bytes)).closed).toMatch(wanted);
  });

  it('that trickle a body are disconnected, although each byte arrives in time', async () => {
    const { port } = await listening({ bodyMs: 200 });
    const client = await rawClient(port, request('', { headers: `${host}Content-Length: 100000\r\n`, length: false }));
    const trickle = setInterval(() => client.socket.writable && client.socket.write(' '), 20);
    onTestFinished(() => clearInterval(trickle));
    expect(await client.closed).toBe('');
  });

  it('may read their response slowly, and a response may take long', async () => {
    const answer = withheld();
    const { port } = await listening({ bodyMs: 20, headMs: 20 }, answer.send);
    const client = await rawClient(port, request(question, { headers: closing }));
    await answer.asked;
    await once(AbortSignal.timeout(60), 'abort');
    answer.give();
    expect(await client.closed).toMatch(/^HTTP\/1.1 200 .*given/s);
  });
});

describe('bodies', () => {
  const large = `${host}Content-Length: ${33 * 1024 * 1024}\r\n`;

  it('get 100 Continue when they are read', async () => {
    const { port } = await listening();
    const [head = '', body = ''] = [request(question, { headers: `${closing}Expect: 100-continue\r\n` })]
      .map(String)
      .flatMap((text) => [text.slice(0, -question.length), text.slice(-question.length)]);
    const client = await rawClient(port, head);
    expect(await client.until(/\r\n\r\n/)).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    client.socket.write(body);
    expect(await client.closed).toMatch(/100 Continue\r\n\r\nHTTP\/1.1 200 OK/);
  });

  it('that are too large get no 100 Continue', async () => {
    const { port } = await listening();
    const client = await rawClient(port, request('', { headers: `${large}Expect: 100-continue\r\n`, length: false }));
    expect(await client.closed).toMatch(/^HTTP\/1.1 413 /);
  });

  it('that are too large are rejected before they arrive', async () => {
    const { port } = await listening();
    const client = await rawClient(port, request('', { headers: large, length: false }));
    expect(await client.until(/\r\n\r\n/)).toMatch(/^HTTP\/1.1 413 /);
    client.socket.end();
  });

  it.each([
    [
      'a length',
      request('', { headers: `${host}Content-Length: 999999999999\r\n`, length: false }),
      Buffer.alloc(65_536),
    ],
    ['chunks', request('', { headers: chunked, length: false }), Buffer.from(`10000\r\n${' '.repeat(65_536)}\r\n`)],
  ])('without an end, with %s, are rejected, and disconnected after a while', async (_, head, piece) => {
    const { port } = await listening();
    const client = await rawClient(port, head);
    let sent = 0;
    while (!client.socket.destroyed) {
      sent += piece.length;
      if (!client.socket.write(piece))
        await Promise.race([once(client.socket, 'drain').catch(() => {}), client.closed]);
    }
    expect(await client.closed).toMatch(/^HTTP\/1.1 413 .*at most/s);
    expect(sent).toBeLessThan(400 * 1024 * 1024);
  });
});

describe('many requests', () => {
  it('in a pipeline get responses in order', async () => {
    const { port } = await listening();
    const bodies = ['r-1', 'r-2', 'r-3'].map((id) => `{"request_id":"${id}",${question.slice(1)}`);
    const requests = bodies.map((body, at) => request(body, { headers: at === 2 ? closing : host }));
    const client = await rawClient(port, Buffer.concat(requests));
    expect((await client.closed).match(/chatcmpl-r-\d/g)).toEqual(['chatcmpl-r-1', 'chatcmpl-r-2', 'chatcmpl-r-3']);
  });

  it('at once, on hundreds of connections, all get responses', async () => {
    const { port } = await listening();
    const clients = await Promise.all(
      Array.from({ length: 400 }, () => rawClient(port, request(question, { headers: closing }))),
    );
    const answers = await Promise.all(clients.map(({ closed }) => closed));
    expect(answers.filter((text) => text.startsWith('HTTP/1.1 200 OK'))).toHaveLength(400);
  });
});

describe('a client that disconnects', () => {
  it('while it waits ends the work', async () => {
    const answer = withheld();
    const { port } = await listening({}, answer.send);
    const client = await rawClient(port, request(question));
    const signal = await answer.asked;
    client.socket.destroy();
    await aborted(signal);
  });

  it('while it reads ends the work', async () => {
    const answer = withheld();
    const { port } = await listening({}, answer.send);
    const client = await rawClient(port, request(question));
    const signal = await answer.asked;
    answer.give(false);
    await client.until(/given/);
    client.socket.destroy();
    await aborted(signal);
  });

  it('ends the work of all requests that it has sent', async () => {
    const signals: ExchangeSignal[] = [];
    let start = (): void => {};
    const started = new Promise<void>((resolve) => {
      start = resolve;
    });
    const { port } = await listening({}, async ({ signal }) => {
      if (signal) signals.push(signal);
      if (signals.length === 3) start();
      if (signal) await aborted(signal);
      return textResponse(200, Buffer.from(''), 'text/plain');
    });
    const client = await rawClient(port, Buffer.concat(Array(3).fill(request('', { line: 'GET /x' }))));
    await started;
    client.socket.destroy();
    await Promise.all(signals.map(aborted));
  });

  it('after its response does not end anything', async () => {
    const answer = withheld();
    const { port } = await listening({}, answer.send);
    const client = await rawClient(port, request(question, { headers: closing }));
    const signal = await answer.asked;
    answer.give();
    await client.closed;
    expect(signal.aborted).toBe(false);
  });
});

describe('closing', () => {
  it('lets a response in flight finish, and accepts no other request', async () => {
    const answer = withheld();
    const { port, close } = await listening({ drainMs: 10_000 }, answer.send);
    const client = await rawClient(port, request(question, { headers: closing }));
    const idle = await rawClient(port);
    await answer.asked;
    const end = close();
    await expect(rawClient(port)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    answer.give();
    expect(await client.closed).toMatch(/^HTTP\/1.1 200 .*given/s);
    await end;
    expect(await idle.closed).toBe('');
  });

  it('lets a client read the rest of a large response', async () => {
    const body = Buffer.alloc(32 * 1024 * 1024, 'x');
    // Longer than a test may take: what ends here is the response.
    const drainMs = 600_000;
    const { port, close } = await listening({ drainMs }, async () => textResponse(200, body, 'text/plain'));
    const client = await rawClient(port, request('', { line: 'GET /x' }));
    await client.until(/xx/);
    client.socket.pause();
    const end = close();
    client.socket.resume();
    expect((await client.closed).split('\r\n\r\n')[1]).toHaveLength(body.length);
    await end;
  });

  it('ends a stream that does not finish with an error event', async () => {
    const events: Send = async ({ signal }) => ({
      status: 200,
      statusText: '',
      headers: [['Content-Type', 'text/event-stream; charset=utf-8']],
      body: (async function* () {
        yield Buffer.from('data: 1\n\n');
        if (signal) await aborted(signal);
        signal?.throwIfAborted();
      })(),
    });
    const { port, close } = await listening({ drainMs: 20 }, events);
    const client = await rawClient(port, request(question));
    await client.until(/data: 1/);
    await close();
    expect(await client.closed).toMatch(
      /data: 1\n\n.*data: \{"error":\{"message":"the service was stopped".*\r\n0\r\n\r\n$/s,
    );
  });

  it('waits until the end of a response that was cut is recorded', async () => {
    let hasEnded = false;
    const { port, close } = await listening({ drainMs: 20 }, async ({ signal }) => {
      const body = async function* () {
        yield Buffer.from('data: 1\n\n');
        try {
          if (signal) await aborted(signal);
        } finally {
          await new Promise(setImmediate);
          hasEnded = true;
        }
      };
      return { status: 200, statusText: '', headers: [['Content-Type', 'text/event-stream']], body: body() };
    });
    const client = await rawClient(port, request(question));
    await client.until(/data: 1/);
    await close();
    expect(hasEnded).toBe(true);
  });

  it('gives a slow reader the same time again for the end of its stream', async () => {
    let hasAborted = (): void => {};
    const abortion = new Promise<void>((resolve) => {
      hasAborted = resolve;
    });
    const flood: Send = async ({ signal }) => {
      signal?.addEventListener('abort', () => hasAborted());
      return {
        status: 200,
        statusText: '',
        headers: [['Content-Type', 'text/event-stream; charset=utf-8']],
        body: (async function* () {
          for (;;) yield Buffer.from(`data: ${'x'.repeat(65_536)}\n\n`);
        })(),
      };
    };
    // The wait for requests in flight ends at once, and so does any shorter one; the second of that length never does.
    const drainMs = 10_000;
    let waits = 0;
    const ownAfter = (milliseconds: number, action: () => void): (() => void) => {
      const isEnding = milliseconds < drainMs || (milliseconds === drainMs && waits++ === 0);
      return isEnding ? after(0, action) : () => {};
    };
    const listener = await listenOnLoopback({ send: flood, observe: (next) => next }, 0, ownAfter, {
      ...patience,
      drainMs,
    });
    const client = await rawClient(new URL(listener.url).port, request(question));
    await client.until(/data: x/);
    client.socket.pause();
    const end = listener.close();
    await abortion;
    client.socket.resume();
    await end;
    expect((await client.closed).slice(-200)).toMatch(
      /data: \{"error":\{"message":"the service was stopped".*\r\n0\r\n\r\n$/s,
    );
  });

  it('ends a response that does not finish', async () => {
    const answer = withheld();
    const { port, close } = await listening({ drainMs: 20 }, answer.send);
    const client = await rawClient(port, request(question));
    const signal = await answer.asked;
    await close();
    expect(await client.closed).toBe('');
    await aborted(signal);
  });
});

async function aborted(signal: ExchangeSignal): Promise<void> {
  if (!signal.aborted) await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
}

/** A service that sends its response, or the first chunk of an endless one, when the test asks for it. */
function withheld(): { send: Send; asked: Promise<ExchangeSignal>; give: (isWhole?: boolean) => void } {
  let give = (_isWhole = true): void => {};
  const given = new Promise<boolean>((resolve) => {
    give = (isWhole = true) => resolve(isWhole);
  });
  let ask = (_signal: ExchangeSignal): void => {};
  const asked = new Promise<ExchangeSignal>((resolve) => {
    ask = resolve;
  });
  const send: Send = async ({ signal, body }) => {
    for await (const _ of bodyChunks(body));
    if (signal) ask(signal);
    const isWhole = await given;
    return {
      status: 200,
      statusText: '',
      headers: [],
      body: (async function* () {
        yield Buffer.from('given');
        if (!isWhole && signal) await aborted(signal);
      })(),
    };
  };
  return { send, asked, give };
}
