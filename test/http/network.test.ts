import { createServer } from 'node:http';
import { connect, createServer as createTcpServer } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { collectBody } from '../../src/http/body-chunks.ts';
import { getHeader, type HttpRequest } from '../../src/http/message.ts';
import { describeNetworkError, isInvalidResponseError } from '../../src/http/network-errors.ts';
import { openSocket } from '../../src/http/open-socket.ts';
import { parseProxyUrl, proxyAuthorization, proxyForUrl } from '../../src/http/proxy.ts';
import { noDeadline, type RequestProgress, watchExchange } from '../../src/http/time-limits.ts';
import { openHttpTransport } from '../../src/http/transport.ts';
import { after } from '../support/clock.ts';
import { bodyOf, httpAnswer, rawServer } from '../support/raw-server.ts';
import { listening } from '../support/secure-servers.ts';

function request(url: string, body: HttpRequest['body'] = Buffer.from('{}')): HttpRequest {
  return { method: 'POST', url, headers: [['Content-Type', 'application/json']], body };
}

async function send(url: string, body?: HttpRequest['body'], env: Readonly<Record<string, string>> = {}) {
  const progress: RequestProgress = { phase: 'nothing', sentBytes: 0, attempts: 0 };
  const line = openHttpTransport({ proxy: parseProxyUrl(proxyForUrl(new URL(url), env)?.text ?? ':'), tls: {} });
  onTestFinished(() => line.close());
  try {
    const reply = await watchExchange(noDeadline, progress, after)(line.send)(request(url, body));
    return { progress, reply, text: (await collectBody(reply.body, 1e9)).toString(), error: undefined };
  } catch (error) {
    return { progress, reply: undefined, text: '', error };
  }
}

describe('the HTTP transport', () => {
  it('does not follow redirects, and returns all headers unchanged', async () => {
    const server = await rawServer((socket) =>
      socket.end(
        'HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:1/\r\nX-A: 1\r\nx-a: 2\r\nContent-Length: 0\r\n\r\n',
      ),
    );
    const { reply } = await send(server.url);
    expect(reply?.status).toBe(307);
    expect(reply?.headers.filter(([name]) => name.toLowerCase() === 'x-a')).toEqual([
      ['X-A', '1'],
      ['x-a', '2'],
    ]);
    expect(server.received).toHaveLength(1);
  });

  it.each([
    ['one', 'HTTP/1.1 100 Continue\r\n\r\n'],
    ['one with headers', 'HTTP/1.1 100 Continue\r\nX-A: 1\r\n\r\n'],
    [
      'between others',
      'HTTP/1.1 103 Early Hints\r\nLink: </>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 P\r\n\r\n',
    ],
    ['two', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(2)],
  ])('skips an unsolicited 100 Continue: %s, whole and byte by byte, also on a kept connection', async (_, interim) => {
    const line = openHttpTransport({ tls: {} }, { after });
    onTestFinished(() => line.close());
    const answer = `${interim}HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok`;
    const tcp = createTcpServer((socket) => {
      socket.setNoDelay(true).on('error', () => {});
      let count = 0;
      socket.on('data', async () => {
        count += 1;
        if (count === 1) socket.write(answer);
        else for (const byte of answer) await new Promise((resolve) => socket.write(byte, resolve));
      });
    });
    await new Promise<void>((resolve) => tcp.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void tcp.close());
    const address = tcp.address();
    const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
    for (let exchange = 0; exchange < 3; exchange += 1) {
      const reply = await watchExchange(noDeadline, { phase: 'nothing', sentBytes: 0, attempts: 0 }, after)(line.send)(
        request(url),
      );
      expect(reply.status).toBe(200);
      expect((await collectBody(reply.body, 1e9)).toString()).toBe('ok');
    }
  });

  it('does not decode the response', async () => {
    const server = await rawServer((socket) =>
      socket.end(httpAnswer('not gzip', '200 OK', 'Content-Encoding: gzip\r\n')),
    );
    expect((await send(server.url)).text).toBe('not gzip');
  });

  it('sends a body of known length with that length, and any other in chunks', async () => {
    const server = await rawServer((socket) => socket.end(httpAnswer('{}')));
    const chunks = async function* () {
      yield Buffer.from('{"a":');
      yield Buffer.from('1}');
    };
    await send(server.url, { length: 7, chunks });
    expect(bodyOf(server.received[0]).toString()).toBe('{"a":1}');
    const chunked = send(server.url, { length: undefined, chunks });
    await chunked;
    expect(server.received[1]?.toString()).toMatch(/transfer-encoding: chunked/i);
  });

  it.each([
    [8, 100],
    [128, 50],
  ])('with %i at once, carries up to %i exchanges on a connection, so that few responses wait', async (width, most) => {
    const counts = new Map<unknown, number>();
    // Thousands of exchanges: a server of HTTP would take most of the time.
    const server = createTcpServer((socket) =>
      socket.on('data', (piece) => {
        if (!piece.toString('latin1').endsWith('{}')) return;
        counts.set(socket, (counts.get(socket) ?? 0) + 1);
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}');
      }),
    );
    const url = `http://127.0.0.1:${await listening(server)}`;
    const line = openHttpTransport({ tls: {} }, { after });
    onTestFinished(() => line.close());
    for (let round = 0; round < most + 2; round += 1)
      await Promise.all(
        Array.from(
          { length: width },
          async () => (await collectBody((await line.send(request(url))).body, 1e9)).length,
        ),
      );
    expect(Math.max(...counts.values())).toBeLessThanOrEqual(most);
    expect(Math.max(...counts.values())).toBeGreaterThan(most / 4);
  });

  it('keeps a connection alive if asked to, and never one whose response was not read to its end', async () => {
    const sockets = new Set<unknown>();
    const server = createServer((asked, response) => {
      sockets.add(asked.socket);
      asked.resume().on('end', () => response.end(asked.url === '/long' ? 'x'.repeat(200_000) : '{}'));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const address = server.address();
    const url = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}/`;
    const counts: number[] = [];
    for (const isKept of [false, true]) {
      const line = openHttpTransport({ tls: {} }, isKept ? { after } : undefined);
      const exchange = async (path: string, isRead: boolean): Promise<void> => {
        const { body } = await line.send(request(`${url}${path}`));
        for await (const _ of body) if (!isRead) break;
        counts.push(sockets.size);
      };
      sockets.clear();
      for (const _ of [1, 2, 3]) await exchange('', true);
      await exchange('long', true);
      await exchange('long', false);
      await exchange('', true);
      await line.close();
    }
    expect(counts).toEqual([1, 2, 3, 4, 5, 6, 1, 1, 1, 1, 1, 2]);
  });

  it.each([
    ['a status below 100', 'HTTP/1.1 099 X\r\nContent-Length: 0\r\n\r\n', 'is not valid HTTP'],
    ['another protocol', 'SSH-2.0-OpenSSH_9\r\n', 'is not valid HTTP'],
    ['an invalid chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n', 'is not valid HTTP'],
    [
      'two lengths',
      'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}',
      'does not match its Content-Length',
    ],
    [
      'a cut body on a connection that is not kept',
      'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 20\r\n\r\n{}',
      'does not match its Content-Length',
    ],
  ])('names an invalid response without words of the HTTP library: %s', async (_, answer, problem) => {
    const server = await rawServer((socket) => socket.end(answer));
    const { error } = await send(server.url);
    expect(describeNetworkError(error)).toBe(`the response ${problem}`);
    expect(isInvalidResponseError(error)).toBe(true);
  });

  it.each(['resetAndDestroy', 'end'] as const)(
    'fails at once where the server closes before TLS: %s',
    async (close) => {
      const server = createTcpServer((socket) => socket.on('error', () => {})[close]());
      const url = new URL(`https://127.0.0.1:${await listening(server)}`);
      const { signal } = new AbortController();
      await expect(openSocket(url, { tls: {} }, signal)).rejects.toThrow(/closed|reset|disconnected/i);
    },
  );

  it('reports how far a request has come', async () => {
    const refused = await send('http://127.0.0.1:9/');
    expect(refused.progress).toEqual({ phase: 'nothing', sentBytes: 0, attempts: 1 });
    expect(describeNetworkError(refused.error)).toContain('connection refused');
    const reset = await rawServer((socket) => socket.destroy());
    const lost = await send(reset.url);
    expect(lost.progress).toEqual({ phase: 'all', sentBytes: 2, attempts: 1 });
    expect(describeNetworkError(lost.error)).toBe('the server closed the connection');
    const early = createTcpServer((socket) => socket.once('data', () => socket.resetAndDestroy()));
    await new Promise<void>((resolve) => early.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void early.close());
    const address = early.address();
    const part = await send(
      `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/`,
      Buffer.alloc(64 * 1024 * 1024),
    );
    expect(part.progress.phase).toBe('part');
    expect(part.progress.sentBytes).toBeLessThan(64 * 1024 * 1024);
  });
});

describe('proxies', () => {
  const proxied = (url: string, env: Record<string, string>) => proxyForUrl(new URL(url), env)?.text;

  it.each<[string, Record<string, string>, string | undefined]>([
    ['https://svc.test', {}, undefined],
    ['https://svc.test', { HTTP_PROXY: 'http://p:1' }, undefined],
    ['https://svc.test', { HTTPS_PROXY: 'http://p:1', https_proxy: 'http://q:2', NO_PROXY: 'x' }, 'http://q:2'],
    ['https://svc.test', { HTTPS_PROXY: 'http://p:1', https_proxy: '' }, 'http://p:1'],
    ['http://svc.test', { http_proxy: 'http://p:1' }, 'http://p:1'],
    ...['http://localhost', 'https://127.8.0.1', 'http://[::1]:5', 'http://a.localhost'].map(
      (near): [string, Record<string, string>, undefined] => [
        near,
        { HTTP_PROXY: 'p:1', HTTPS_PROXY: 'p:1' },
        undefined,
      ],
    ),
    ...['svc.test', '.test', '*.test', '*', 'a, SVC.test b', 'svc.test:80', 'test'].map(
      (list): [string, Record<string, string>, undefined] => [
        'http://svc.test',
        { HTTP_PROXY: 'p:1', NO_PROXY: list },
        undefined,
      ],
    ),
    ...[
      ['http://[fd00::1]:8080', 'fd00::1'],
      ['http://[fd00::1]:8080', '[fd00::1]:8080'],
      ['http://[fd00::1]', 'fd00::/16'],
      ['http://10.1.2.3', '10.0.0.0/8'],
      ['http://10.1.2.3', 'x 10.1.2.3'],
      ['http://svc.test', 'svc.test.'],
      ['http://svc.test.', 'svc.test'],
      ['http://a.svc.test.', '.svc.test.'],
    ].map(([url = '', list = '']): [string, Record<string, string>, undefined] => [
      url,
      { HTTP_PROXY: 'p:1', NO_PROXY: list },
      undefined,
    ]),
    ...[
      ['http://[fd00::1]', 'fd01::/16'],
      ['http://11.1.2.3', '10.0.0.0/8'],
      ['http://11.1.2.3', '10.0.0.0/99'],
      ['http://[fd00::1]:8080', '[fd00::1]:81'],
    ].map(([url = '', list = '']): [string, Record<string, string>, string] => [
      url,
      { HTTP_PROXY: 'p:1', NO_PROXY: list },
      'p:1',
    ]),
    ...['vc.test', 'svc.test:81', 'other', ',', 'svc.test.x'].map((list): [string, Record<string, string>, string] => [
      'http://svc.test',
      { HTTP_PROXY: 'p:1', no_proxy: list },
      'p:1',
    ]),
  ])('for %s of the environment %j: %s', (url, env, wanted) => {
    expect(proxied(url, env)).toBe(wanted);
  });

  it.each<[string, string | undefined, string?]>([
    ['http://p:1', 'http://p:1/'],
    ['p:3128', 'http://p:3128/'],
    ['https://p', 'https://p/'],
    ['u:p%40w@p:1', 'http://u:p%40w@p:1/', 'Basic dTpwQHc='],
    ['http://u:100%@p:1', 'http://u:100%@p:1/', 'Basic dToxMDAl'],
    ['socks5://p:1', undefined],
    [':', undefined],
  ])('named %s are at %s', (text, wanted, authorization) => {
    const proxy = parseProxyUrl(text);
    expect(proxy?.href).toBe(wanted);
    expect(proxy && proxyAuthorization(proxy)).toBe(authorization);
  });

  it('that do not respond are given up without an error that nobody handles', async () => {
    const controller = new AbortController();
    let onClose = (): void => {};
    const closed = new Promise<void>((resolve) => {
      onClose = resolve;
    });
    const server = createTcpServer((socket) => {
      socket.once('data', () => controller.abort(new Error('enough'))).on('close', onClose);
    });
    const unhandled: unknown[] = [];
    const onUnhandled = (error: unknown): void => void unhandled.push(error);
    process.on('uncaughtException', onUnhandled);
    onTestFinished(() => void process.off('uncaughtException', onUnhandled));
    const proxy = new URL(`http://127.0.0.1:${await listening(server)}`);
    await expect(openSocket(new URL('https://svc.test'), { proxy, tls: {} }, controller.signal)).rejects.toThrow();
    await closed;
    expect(unhandled).toEqual([]);
  });

  it('are used as curl uses them: the whole URL for http, a tunnel for https, nothing for NO_PROXY', async () => {
    const seen: string[] = [];
    const proxy = createServer((incoming, response) => {
      seen.push(`${incoming.method} ${incoming.url} ${incoming.headers.host}`);
      incoming.resume();
      response.end('{"via":"proxy"}');
    });
    proxy.on('connect', (incoming, socket) => {
      seen.push(`${incoming.method} ${incoming.url}`);
      const target = connect(1, '127.0.0.1');
      target.on('error', () => {});
      socket.on('error', () => {}).end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void proxy.close());
    const address = proxy.address();
    const at = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
    const through = (url: string) =>
      send(url, undefined, { HTTP_PROXY: at, HTTPS_PROXY: at, NO_PROXY: 'direct.invalid' });
    const plain = await through('http://svc.invalid/call/start');
    expect(plain.text).toBe('{"via":"proxy"}');
    expect(getHeader(plain.reply?.headers ?? [], 'content-length')).toBe('15');
    const tunnel = await through('https://svc.invalid/call/start');
    expect(tunnel.progress.phase).toBe('nothing');
    expect((await through('http://direct.invalid/')).progress.phase).toBe('nothing');
    expect(seen).toEqual(['POST http://svc.invalid/call/start svc.invalid', 'CONNECT svc.invalid:443']);
  });
});
