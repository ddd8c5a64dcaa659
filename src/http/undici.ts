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
 */
export function overUndici(proxies: Proxies | undefined): Line {
  const options = { headersTimeout: 0, bodyTimeout: 0, connect: { timeout: 0 }, allowH2: false };
  const dispatcher: Dispatcher = proxies
    ? new EnvHttpProxyAgent({ ...options, ...proxies, proxyTunnel: false })
    : new Agent(options);
  return { send: (request) => exchange(dispatcher, request), close: () => dispatcher.destroy() };
}

async function exchange(dispatcher: Dispatcher, { url: text, method, headers, body, signal }: Request): Promise<Reply> {
  const url = new URL(text);
  const length: Headers = body.length === undefined ? [] : [['Content-Length', String(body.length)]];
  const reply = await dispatcher.request({
    origin: url.origin,
    path: url.pathname + url.search,
    method,
    headers: [...headers, ...length].flat(),
    // undici takes any async iterable and starts it when it is connected; its types know streams only.
    body: piecesOf(body) as unknown as Readable,
    responseHeaders: 'raw',
    signal: signal ?? null,
  });
  return { status: reply.statusCode, statusText: reply.statusText, headers: pairs(reply.headers), body: reply.body };
}

function pairs(raw: unknown): Headers {
  if (!Array.isArray(raw)) return [];
  return Array.from({ length: raw.length / 2 }, (_, at) => [String(raw[at * 2]), String(raw[at * 2 + 1])] as const);
}
