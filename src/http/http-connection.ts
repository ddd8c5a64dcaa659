import type { Buffer } from 'node:buffer';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import Client from 'undici/lib/dispatcher/client.js';
import { type BodyQueue, createBodyQueue } from './body-queue.ts';
import type { Headers, Request, Response } from './message.ts';
import { notifyBodyEnd } from './notify-body-end.ts';
import { openSocket, type Route } from './open-socket.ts';
import { proxyAuthorization } from './proxy.ts';
import { controlReading, type ReadControl } from './read-control.ts';
import { bodyChunks } from './request-progress.ts';
import type { StartTimer } from './time-limits.ts';

/** One connection to an origin, made when it is first needed. */
export interface HttpConnection {
  readonly origin: string;
  readonly exchange: (request: Request, url: URL) => Promise<Response>;
  /** False after 100 responses, or 256 KiB of them: stray data makes all responses of a connection doubtful. */
  readonly isReusable: () => boolean;
  /** Ends it in order, for 500 ms at most: a server sends what it still has, and closes. The timer has to keep the process alive. */
  readonly finish: (startTimer: StartTimer) => Promise<void>;
  /** Ends it at once, with what goes over it. */
  readonly destroy: () => Promise<void>;
}

// Servers wait longer than this for the next request, so that none leaves on a connection that is about to be closed.
const MAX_IDLE_MS = 1000;

const MAX_FINISH_MS = 500;
const MAX_EXCHANGES = 100;
const MAX_RESPONSE_BYTES_CARRIED = 256 * 1024;

/** A link to the origin of an address; `isKept`: for one exchange after the other, else for one. */
export function createConnection(url: URL, route: Route, isKeepAlive: boolean): HttpConnection {
  // Once it has the connection, undici alone ends it: one that closes unasked while it does not read breaks it.
  let connectAbort = new AbortController();
  let readControl: ReadControl = { pause: () => {}, resume: () => {}, expectResponse: () => {} };
  let traffic = createTraffic();
  let openedSocket: Socket | undefined;
  const client = new Client(url.origin, {
    // The usual limit of Node.
    maxHeaderSize: 16_384,
    headersTimeout: 0,
    bodyTimeout: 0,
    allowH2: false,
    keepAliveTimeout: MAX_IDLE_MS,
    keepAliveMaxTimeout: MAX_IDLE_MS,
    connect: (_, done) => {
      connectAbort = new AbortController();
      openSocket(url, route, connectAbort.signal).then(
        (socket) => {
          readControl = controlReading(socket);
          const socketTraffic = createTraffic();
          traffic = socketTraffic;
          openedSocket = socket;
          reportStrayData(socket, socketTraffic);
          done(null, socket);
        },
        (error) => done(error, null),
      );
    },
  });
  const destroy = async (reason?: unknown): Promise<void> => {
    connectAbort.abort(reason);
    await client.destroy(reason instanceof Error ? reason : null);
  };
  return {
    origin: url.origin,
    destroy: () => destroy(),
    finish: async (startTimer) => {
      if (openedSocket?.destroyed === false) await endSocket(openedSocket, startTimer);
      await destroy();
    },
    isReusable: () => traffic.responses < MAX_EXCHANGES && traffic.responseBytes < MAX_RESPONSE_BYTES_CARRIED,
    exchange: async (request, to) => {
      const { signal } = request;
      signal?.throwIfAborted();
      readControl.expectResponse();
      const { response, fail } = dispatchRequest(request, to, {
        client,
        route,
        isKeepAlive,
        getReadControl: () => readControl,
        getTraffic: () => traffic,
      });
      const stop = (): void => {
        // An answer that has no length of its own would seem to have come to its end.
        fail(signal?.reason);
        void destroy(signal?.reason);
      };
      signal?.addEventListener('abort', stop, { once: true });
      return notifyBodyEnd(await response, async () => signal?.removeEventListener('abort', stop));
    },
  };
}

// Only the timer keeps the process alive: undici takes the reference of an idle socket.
function endSocket(socket: Socket, startTimer: StartTimer): Promise<void> {
  return new Promise((resolve) => {
    const cancelTimer = startTimer(MAX_FINISH_MS, resolve);
    socket.once('close', () => {
      cancelTimer();
      resolve();
    });
    socket.end();
  });
}

/** A request that was handed over, and its reply to come. */
interface PendingExchange {
  readonly response: Promise<Response>;
  /** Ends what is still to come of the answer with an error. */
  readonly fail: (error: unknown) => void;
}

/** What a request goes over. */
interface ExchangeChannel {
  readonly client: Client;
  readonly route: Route;
  readonly isKeepAlive: boolean;
  readonly getReadControl: () => ReadControl;
  readonly getTraffic: () => Traffic;
}

/** What went over one socket. */
interface Traffic {
  isResponseExpected: boolean;
  responses: number;
  responseBytes: number;
  /** The callbacks of the requests that have a response. */
  readonly onStrayData: (() => void)[];
}

function createTraffic(): Traffic {
  return { isResponseExpected: false, responses: 0, responseBytes: 0, onStrayData: [] };
}

// undici closes a connection on which a response begins that it does not expect, and keeps that to itself.
function reportStrayData(socket: Socket, traffic: Traffic): void {
  const destroy = socket.destroy.bind(socket);
  socket.destroy = (error) => {
    const isStray = error && (error.name === 'HTTPParserError' || error.message === 'bad response');
    if (isStray && !traffic.isResponseExpected) for (const onStrayData of traffic.onStrayData.splice(0)) onStrayData();
    return destroy(error);
  };
}

function dispatchRequest(
  request: Request,
  url: URL,
  { client, route: { proxy }, isKeepAlive, getReadControl, getTraffic }: ExchangeChannel,
): PendingExchange {
  const { method, headers, body, onBodySent, onStrayData } = request;
  const length: Headers = body.length === undefined ? [] : [['Content-Length', String(body.length)]];
  // A forwarding proxy gets the whole URL, and reads its own credential.
  const plainProxy = url.protocol === 'http:' ? proxy : undefined;
  const authorization = plainProxy && proxyAuthorization(plainProxy);
  const extra: Headers = authorization ? [['Proxy-Authorization', authorization]] : [];
  const options = {
    path: plainProxy ? url.href : url.pathname + url.search,
    method,
    headers: [...headers, ...extra, ...length].flat(),
    // What is to be handed over at once goes as it is. undici takes any async iterable as well, and starts it when it is
    // connected; its types know streams only.
    body: (body instanceof Uint8Array && onBodySent ? body : bodyChunks(body)) as unknown as Readable,
    reset: !isKeepAlive,
  };
  let queue: BodyQueue | undefined;
  const response = new Promise<Response>((resolve, reject) => {
    client.dispatch(options, {
      onConnect: () => {
        getTraffic().isResponseExpected = true;
        onBodySent?.();
      },
      onHeaders: (status, raw, _, statusText) => {
        // An interim response.
        if (status < 200) return true;
        const bodyQueue = createBodyQueue(getReadControl());
        queue = bodyQueue;
        // A short answer is all in the packet of its headers, which is read to its end before this is called.
        queueMicrotask(() => {
          resolve({
            status,
            statusText,
            headers: parseRawHeaders(raw),
            body: bodyQueue.body,
            completeBody: bodyQueue.completeBody(),
          });
        });
        return true;
      },
      onData: (chunk) => {
        getTraffic().responseBytes += chunk.length;
        queue?.push(chunk);
        return true;
      },
      onComplete: () => {
        const traffic = getTraffic();
        traffic.isResponseExpected = false;
        traffic.responses += 1;
        if (onStrayData) traffic.onStrayData.push(onStrayData);
        queue?.end();
      },
      onError: (error) => {
        queue?.fail(error);
        reject(error);
      },
    });
  });
  return { response, fail: (error) => queue?.fail(error) };
}

function parseRawHeaders(raw: readonly Buffer[]): Headers {
  const text = (at: number): string => raw[at]?.toString('latin1') ?? '';
  return Array.from({ length: raw.length / 2 }, (_, at) => [text(at * 2), text(at * 2 + 1)] as const);
}
