import type { Readable } from 'node:stream';
import { Agent, type Dispatcher } from 'undici';
import { connectTo, type Way } from './connection.ts';
import type { Headers, Reply, Request, Send } from './message.ts';
import { piecesOf } from './progress.ts';
import { proxyAuthorization } from './proxies.ts';

/** A way to send requests, open until it is closed; closing ends all exchanges at once. */
export interface Line {
  readonly send: Send;
  readonly close: () => Promise<void>;
}

/**
 * Exchanges over HTTP/1.1 without any of undici's own policies: no redirects, no repeats, no time limits, no decoding.
 * Throws what the connection throws. A body is asked for when the connection, TLS included, is there.
 *
 * Each exchange has a connection of its own: one that was used before can be closed by the server as the next request
 * leaves, and then nobody knows whether that was applied. It has a dispatcher of its own as well, because undici
 * connects anew when an exchange is aborted.
 */
export function overUndici(way: Way): Line {
  const open = new Set<() => Promise<void>>();
  return {
    send: async (request) => {
      const stop = new AbortController();
      const signal = request.signal ? AbortSignal.any([request.signal, stop.signal]) : stop.signal;
      const dispatcher = dispatcherFor(new URL(request.url), way, signal);
      const end = async (): Promise<void> => {
        open.delete(end);
        stop.abort();
        await dispatcher.destroy();
      };
      open.add(end);
      try {
        const reply = await exchange(dispatcher, request, way);
        return { ...reply, body: endedWith(reply.body, end) };
      } catch (error) {
        await end();
        throw error;
      }
    },
    close: async () => {
      await Promise.all(Array.from(open, (end) => end()));
    },
  };
}

function dispatcherFor(url: URL, way: Way, signal: AbortSignal): Dispatcher {
  return new Agent({
    headersTimeout: 0,
    bodyTimeout: 0,
    allowH2: false,
    connect: (_, done) => {
      // Once it has the connection, undici alone ends it: one that closes unasked while it does not read breaks it.
      const connecting = new AbortController();
      const stop = (): void => connecting.abort(signal.reason);
      signal.addEventListener('abort', stop, { once: true });
      if (signal.aborted) stop();
      connectTo(url, way, connecting.signal)
        .finally(() => signal.removeEventListener('abort', stop))
        .then(
          (socket) => done(null, socket),
          (error) => done(error, null),
        );
    },
  });
}

async function exchange(dispatcher: Dispatcher, request: Request, { proxy }: Way): Promise<Reply> {
  const { url: text, method, headers, body, signal } = request;
  const url = new URL(text);
  const length: Headers = body.length === undefined ? [] : [['Content-Length', String(body.length)]];
  // A proxy that is no tunnel is told the whole address, and is the one to read its credential.
  const asked = url.protocol === 'http:' ? proxy : undefined;
  const authorization = asked && proxyAuthorization(asked);
  const extra: Headers = authorization ? [['Proxy-Authorization', authorization]] : [];
  if (signal?.aborted) throw signal.reason;
  signal?.addEventListener('abort', () => void dispatcher.destroy(signal.reason), { once: true });
  const reply = await dispatcher.request({
    origin: url.origin,
    path: asked ? url.href : url.pathname + url.search,
    method,
    headers: [...headers, ...extra, ...length].flat(),
    // undici takes any async iterable and starts it when it is connected; its types know streams only.
    body: piecesOf(body) as unknown as Readable,
    responseHeaders: 'raw',
    reset: true,
  });
  return { status: reply.statusCode, statusText: reply.statusText, headers: pairs(reply.headers), body: reply.body };
}

async function* endedWith(body: Reply['body'], end: () => Promise<void>): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } finally {
    await end();
  }
}

function pairs(raw: unknown): Headers {
  if (!Array.isArray(raw)) return [];
  return Array.from({ length: raw.length / 2 }, (_, at) => [String(raw[at * 2]), String(raw[at * 2 + 1])] as const);
}
