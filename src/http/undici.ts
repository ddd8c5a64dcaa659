import type { Buffer } from 'node:buffer';
import type { Readable } from 'node:stream';
import Client from 'undici/lib/dispatcher/client.js';
import { type Arriving, arriving } from './arriving.ts';
import { connectTo, type Way } from './connection.ts';
import { type Holding, holdable } from './holding.ts';
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
 * leaves, and then nobody knows whether that was applied. Where `isKept`, for many exchanges in a row, a connection whose
 * answer was read to its end serves the next one, unless that comes later than a second (docs/decisions/0019).
 */
export function overUndici(way: Way, isKept = false): Line {
  const open = new Set<Link>();
  const idle: Link[] = [];
  const discard = async (link: Link): Promise<void> => {
    open.delete(link);
    await link.destroy();
  };
  return {
    send: async (request) => {
      const url = new URL(request.url);
      const at = idle.findLastIndex(({ origin }) => origin === url.origin);
      const [link = linkTo(url, way, isKept)] = at === -1 ? [] : idle.splice(at, 1);
      open.add(link);
      try {
        const reply = await link.exchange(request);
        const end = async (isWhole: boolean): Promise<void> => {
          if (isWhole && isKept) idle.push(link);
          else await discard(link);
        };
        return await endedWith(reply, end);
      } catch (error) {
        await discard(link);
        throw error;
      }
    },
    close: async () => {
      await Promise.all(Array.from(open, discard));
    },
  };
}

/** One connection to an origin, made when it is first needed. */
interface Link {
  readonly origin: string;
  readonly exchange: (request: Request) => Promise<Reply>;
  /** Ends it at once, with what goes over it. */
  readonly destroy: () => Promise<void>;
}

// Servers wait longer than this for the next request, so that none leaves on a connection that is about to be closed.
const LONGEST_IDLE = 1000;

function linkTo(url: URL, way: Way, isKept: boolean): Link {
  // Once it has the connection, undici alone ends it: one that closes unasked while it does not read breaks it.
  let connecting = new AbortController();
  let holding: Holding = { hold: () => {}, release: () => {} };
  const client = new Client(url.origin, {
    // The usual limit of Node.
    maxHeaderSize: 16_384,
    headersTimeout: 0,
    bodyTimeout: 0,
    allowH2: false,
    keepAliveTimeout: LONGEST_IDLE,
    keepAliveMaxTimeout: LONGEST_IDLE,
    connect: (_, done) => {
      connecting = new AbortController();
      connectTo(url, way, connecting.signal).then(
        (socket) => {
          holding = holdable(socket);
          done(null, socket);
        },
        (error) => done(error, null),
      );
    },
  });
  const destroy = async (reason?: unknown): Promise<void> => {
    connecting.abort(reason);
    await client.destroy(reason instanceof Error ? reason : null);
  };
  return {
    origin: url.origin,
    destroy: () => destroy(),
    exchange: async (request) => {
      const { signal } = request;
      signal?.throwIfAborted();
      const { reply, fail } = asked(client, request, way, isKept, () => holding);
      const stop = (): void => {
        // An answer that has no length of its own would seem to have come to its end.
        fail(signal?.reason);
        void destroy(signal?.reason);
      };
      signal?.addEventListener('abort', stop, { once: true });
      return endedWith(await reply, async () => signal?.removeEventListener('abort', stop));
    },
  };
}

/** A request that was handed over, and its reply to come. */
interface Asked {
  readonly reply: Promise<Reply>;
  /** Ends what is still to come of the answer with an error. */
  readonly fail: (error: unknown) => void;
}

function asked(client: Client, request: Request, { proxy }: Way, isKept: boolean, holding: () => Holding): Asked {
  const { url: text, method, headers, body, onLeave } = request;
  const url = new URL(text);
  const length: Headers = body.length === undefined ? [] : [['Content-Length', String(body.length)]];
  // A proxy that is no tunnel is told the whole address, and is the one to read its credential.
  const plain = url.protocol === 'http:' ? proxy : undefined;
  const authorization = plain && proxyAuthorization(plain);
  const extra: Headers = authorization ? [['Proxy-Authorization', authorization]] : [];
  const options = {
    path: plain ? url.href : url.pathname + url.search,
    method,
    headers: [...headers, ...extra, ...length].flat(),
    // What is to be handed over at once goes as it is. undici takes any async iterable as well, and starts it when it is
    // connected; its types know streams only.
    body: (body instanceof Uint8Array && onLeave ? body : piecesOf(body)) as unknown as Readable,
    reset: !isKept,
  };
  let arrived: Arriving | undefined;
  const reply = new Promise<Reply>((resolve, reject) => {
    client.dispatch(options, {
      onConnect: () => onLeave?.(),
      onHeaders: (status, raw, _, statusText) => {
        // Others come before the answer.
        if (status < 200) return true;
        const answer = arriving(holding());
        arrived = answer;
        // A short answer is all in the packet of its headers, which is read to its end before this is called.
        queueMicrotask(() => {
          resolve({ status, statusText, headers: pairs(raw), body: answer.body, whole: answer.whole() });
        });
        return true;
      },
      onData: (piece) => {
        arrived?.push(piece);
        return true;
      },
      onComplete: () => arrived?.end(),
      onError: (error) => {
        arrived?.fail(error);
        reject(error);
      },
    });
  });
  return { reply, fail: (error) => arrived?.fail(error) };
}

// Calls back when the body was read, to its end or not.
async function endedWith(reply: Reply, end: (isWhole: boolean) => Promise<void>): Promise<Reply> {
  if (!reply.whole) return { ...reply, body: readUntil(reply.body, end) };
  await end(true);
  return reply;
}

async function* readUntil(body: Reply['body'], end: (isWhole: boolean) => Promise<void>): AsyncGenerator<Uint8Array> {
  let isWhole = false;
  try {
    yield* body;
    isWhole = true;
  } finally {
    await end(isWhole);
  }
}

function pairs(raw: readonly Buffer[]): Headers {
  const text = (at: number): string => raw[at]?.toString('latin1') ?? '';
  return Array.from({ length: raw.length / 2 }, (_, at) => [text(at * 2), text(at * 2 + 1)] as const);
}
