import type { Readable } from 'node:stream';
import { Agent, type Dispatcher, EnvHttpProxyAgent } from 'undici';
import type { Headers, Reply, Request, Send } from './message.ts';
import { piecesOf } from './progress.ts';
import type { Proxies } from './proxies.ts';

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
export function overUndici(proxies: Proxies | undefined): Line {
  const open = new Set<Dispatcher>();
  return {
    send: async (request) => {
      const dispatcher = dispatcherFor(proxies);
      open.add(dispatcher);
      const end = async (): Promise<void> => {
        open.delete(dispatcher);
        await dispatcher.destroy();
      };
      try {
        const reply = await exchange(dispatcher, request);
        return { ...reply, body: endedWith(reply.body, end) };
      } catch (error) {
        await end();
        throw error;
      }
    },
    close: async () => {
      await Promise.all(Array.from(open, (dispatcher) => dispatcher.destroy()));
    },
  };
}

function dispatcherFor(proxies: Proxies | undefined): Dispatcher {
  const options = { headersTimeout: 0, bodyTimeout: 0, connect: { timeout: 0 }, allowH2: false };
  return proxies ? new EnvHttpProxyAgent({ ...options, ...proxies, proxyTunnel: false }) : new Agent(options);
}

async function exchange(dispatcher: Dispatcher, { url: text, method, headers, body, signal }: Request): Promise<Reply> {
  const url = new URL(text);
  const length: Headers = body.length === undefined ? [] : [['Content-Length', String(body.length)]];
  if (signal?.aborted) throw signal.reason;
  signal?.addEventListener('abort', () => void dispatcher.destroy(signal.reason), { once: true });
  const reply = await dispatcher.request({
    origin: url.origin,
    path: url.pathname + url.search,
    method,
    headers: [...headers, ...length].flat(),
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
