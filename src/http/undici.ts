import type { Buffer } from 'node:buffer';
import type { Readable } from 'node:stream';
import Client from 'undici/lib/dispatcher/client.js';
import { type Arriving, arriving } from './arriving.ts';
import { connectTo, type Way } from './connection.ts';
import { endedWith } from './ended.ts';
import { type Holding, holdable } from './holding.ts';
import type { Headers, Reply, Request } from './message.ts';
import { piecesOf } from './progress.ts';
import { proxyAuthorization } from './proxies.ts';

/** One connection to an origin, made when it is first needed. */
export interface Link {
  readonly origin: string;
  readonly exchange: (request: Request, url: URL) => Promise<Reply>;
  /** Ends it at once, with what goes over it. */
  readonly destroy: () => Promise<void>;
}

// Servers wait longer than this for the next request, so that none leaves on a connection that is about to be closed.
const LONGEST_IDLE = 1000;

/** A link to the origin of an address; `isKept`: for one exchange after the other, else for one. */
export function linkTo(url: URL, way: Way, isKept: boolean): Link {
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
    exchange: async (request, to) => {
      const { signal } = request;
      signal?.throwIfAborted();
      const { reply, fail } = asked(request, to, { client, way, isKept, holding: () => holding });
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

/** What a request goes over. */
interface Wire {
  readonly client: Client;
  readonly way: Way;
  readonly isKept: boolean;
  readonly holding: () => Holding;
}

function asked(request: Request, url: URL, { client, way: { proxy }, isKept, holding }: Wire): Asked {
  const { method, headers, body, onLeave } = request;
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

function pairs(raw: readonly Buffer[]): Headers {
  const text = (at: number): string => raw[at]?.toString('latin1') ?? '';
  return Array.from({ length: raw.length / 2 }, (_, at) => [text(at * 2), text(at * 2 + 1)] as const);
}
