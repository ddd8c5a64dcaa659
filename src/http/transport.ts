import type { Buffer } from 'node:buffer';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import Client from 'undici/lib/dispatcher/client.js';
import { bodyChunks, concatChunks, notifyBodyEnd } from './body-chunks.ts';
import { type HttpRequest, type HttpResponse, pairHeaders, type Send } from './message.ts';
import { type ConnectOptions, openSocket } from './open-socket.ts';
import { proxyAuthorization } from './proxy.ts';
import type { StartTimer } from './time-limits.ts';

/** A way to send requests, open until it is closed; closing ends all exchanges at once. */
export interface Transport {
  readonly send: Send;
  /** Ends the kept connections that are idle in order, which shows data that no request asked for. */
  readonly finishIdle?: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/**
 * Exchanges over HTTP/1.1 without undici's own policies: no redirects, retries, time limits or decoding. A body is read only
 * once the connection is open. Each exchange has its own connection: a server may close a reused one just as the next request
 * is sent, and then it is unknown whether that was applied. With `keepAlive`, for many exchanges in a row, a connection whose response
 * was read serves the next one within a second (docs/internals/decisions/0019), until a request gets no response on such a connection.
 */
export function openHttpTransport(options: ConnectOptions, keepAlive?: { readonly after: StartTimer }): Transport {
  const openConnections = new Set<HttpConnection>();
  const idleConnections: HttpConnection[] = [];
  // Some servers close each connection after a response without announcing it: they would lose every second request.
  let isReuseSafe = keepAlive !== undefined;
  const discard = async (connection: HttpConnection): Promise<void> => {
    openConnections.delete(connection);
    await connection.destroy();
  };
  const finish = async (connection: HttpConnection): Promise<void> => {
    if (keepAlive) await connection.finish(keepAlive.after);
    openConnections.delete(connection);
  };
  // Each response stays in memory until its connection ends, so many connections carry fewer.
  const isReusable = (connection: HttpConnection): boolean =>
    connection.isReusable(Math.min(1, FULL_CONNECTIONS / openConnections.size));
  // The body may be read to its end before it is decompressed.
  const countInflated = (connection: HttpConnection, bytes: number): void => {
    connection.countBytes(bytes);
    const at = isReusable(connection) ? -1 : idleConnections.indexOf(connection);
    if (at !== -1) for (const idle of idleConnections.splice(at, 1)) void finish(idle);
  };
  return {
    send: async (request) => {
      const { signal } = request;
      signal?.throwIfAborted();
      const url = new URL(request.url);
      const canReuse = isReuseSafe && idleConnections.at(-1)?.origin === url.origin;
      const idle = canReuse ? idleConnections.pop() : undefined;
      const connection = idle ?? createConnection(url, options, isReuseSafe);
      openConnections.add(connection);
      const stop = (): void => void connection.destroy(signal?.reason);
      signal?.addEventListener('abort', stop, { once: true });
      const onEnd = (isComplete: boolean): Promise<void> | undefined => {
        signal?.removeEventListener('abort', stop);
        if (!isComplete || !keepAlive) return discard(connection);
        if (isReuseSafe && isReusable(connection)) idleConnections.push(connection);
        else void finish(connection);
        return undefined;
      };
      try {
        const response = await notifyBodyEnd(await connection.exchange(request, url), onEnd);
        return { ...response, countInflated: (bytes) => countInflated(connection, bytes) };
      } catch (error) {
        if (idle && !signal?.aborted) isReuseSafe = false;
        await onEnd(false);
        throw error;
      }
    },
    finishIdle: async () => {
      await Promise.all(idleConnections.splice(0).map(finish));
    },
    close: async () => {
      await Promise.all(Array.from(openConnections, discard));
    },
  };
}

// Servers wait longer than this for the next request, so no request is sent on a connection that is about to be closed.
const MAX_IDLE_MS = 1000;

const MAX_FINISH_MS = 500;
const MAX_EXCHANGES = 100;
const MAX_CARRIED_RESPONSE_BYTES = 256 * 1024;
// As many as requests that cannot be repeated are in flight; of more connections, each carries less.
const FULL_CONNECTIONS = 64;

const CLIENT_OPTIONS = {
  maxHeaderSize: 16_384,
  headersTimeout: 0,
  bodyTimeout: 0,
  allowH2: false,
  keepAliveTimeout: MAX_IDLE_MS,
  keepAliveMaxTimeout: MAX_IDLE_MS,
};

type HttpConnection = ReturnType<typeof createConnection>;

// One connection, made when it is first needed; it carries one exchange at a time, with `isKeepAlive` several in sequence.
function createConnection(url: URL, options: ConnectOptions, isKeepAlive: boolean) {
  // Only undici may end a connection that it has taken over: it fails if one closes by itself while it does not read.
  let connectAbort = new AbortController();
  let traffic = createTraffic();
  let endArrivingBody: ((error: unknown) => void) | undefined;
  let onInterimResponse: HttpRequest['onInterimResponse'];
  const client = new Client(url.origin, {
    ...CLIENT_OPTIONS,
    connect: (_, done) => {
      connectAbort = new AbortController();
      openSocket(url, options, connectAbort.signal).then(
        (socket) => {
          traffic = createTraffic(socket);
          controlReading(socket, traffic, () => onInterimResponse?.());
          reportStrayData(socket, traffic);
          done(null, socket);
        },
        (error) => done(error, null),
      );
    },
  });
  const destroy = async (reason?: unknown): Promise<void> => {
    // Otherwise, a body without a length would look complete.
    if (reason !== undefined) endArrivingBody?.(reason);
    connectAbort.abort(reason);
    await client.destroy(reason instanceof Error ? reason : null);
  };
  return {
    origin: url.origin,
    destroy,
    finish: async (startTimer: StartTimer): Promise<void> => {
      if (traffic.socket?.destroyed === false) await finishSocket(traffic.socket, startTimer);
      await destroy();
    },
    countBytes: (bytes: number): void => {
      traffic.responseBytes += bytes;
    },
    /** False after a share of 100 responses or of 256 KiB of them: stray data makes all responses of a connection doubtful. */
    isReusable: (share: number): boolean =>
      traffic.responses < MAX_EXCHANGES * share && traffic.responseBytes < MAX_CARRIED_RESPONSE_BYTES * share,
    exchange: (request: HttpRequest, to: URL): Promise<HttpResponse> => {
      onInterimResponse = request.onInterimResponse;
      traffic.isBeforeResponse = true;
      traffic.held = [];
      return new Promise((resolve, reject) => {
        const { handler, endBody } = receiveResponse(() => traffic, {
          resolve,
          reject,
          onBodySent: request.onBodySent,
        });
        endArrivingBody = endBody;
        client.dispatch(dispatchOptions(request, to, options, isKeepAlive), handler);
      });
    },
  };
}

// Reads remaining data for at most 500 ms. Only the timer keeps the process alive: undici takes the reference of an idle socket.
function finishSocket(socket: Socket, startTimer: StartTimer): Promise<void> {
  return new Promise((resolve) => {
    const cancelTimer = startTimer(MAX_FINISH_MS, resolve);
    socket.once('close', () => {
      cancelTimer();
      resolve();
    });
    socket.end();
  });
}

interface Receiver {
  readonly resolve: (response: HttpResponse) => void;
  readonly reject: (error: unknown) => void;
  readonly onBodySent: HttpRequest['onBodySent'];
}

// What undici calls during an exchange (the traffic is that of a socket once one is open), and a function that ends a body which is arriving with an error.
function receiveResponse(traffic: () => Traffic, { resolve, reject, onBodySent }: Receiver) {
  let arrivingBody: ReturnType<typeof createBodyQueue> | undefined;
  let onStrayData = (): void => {};
  const strayData = new Promise<void>((settle) => {
    onStrayData = settle;
  });
  const handler: Parameters<Client['dispatch']>[1] = {
    onConnect: () => {
      traffic().isResponseExpected = true;
      onBodySent?.();
    },
    onHeaders: (status, rawHeaders, _, statusText) => {
      if (status < 200) return true;
      const bodyQueue = createBodyQueue(traffic());
      arrivingBody = bodyQueue;
      // The body of a short response is in the packet of its headers, which is read to its end before this runs.
      queueMicrotask(() => {
        const headers = pairHeaders(rawHeaders.map((text) => text.toString('latin1')));
        const { body, completeBody } = bodyQueue;
        resolve({ status, statusText, headers, body, completeBody: completeBody(), strayData });
      });
      return true;
    },
    onData: (chunk) => {
      traffic().responseBytes += chunk.length;
      arrivingBody?.push(chunk);
      return true;
    },
    onComplete: () => {
      traffic().isResponseExpected = false;
      traffic().responses += 1;
      traffic().onStrayData.push(onStrayData);
      arrivingBody?.end();
    },
    onError: (error) => {
      arrivingBody?.end(error);
      reject(error);
    },
  };
  return { handler, endBody: (error: unknown) => arrivingBody?.end(error) };
}

type Traffic = ReturnType<typeof createTraffic>;

// `isPaused`: the parser gets nothing to read. `held`: the start of an incomplete head before a response.
function createTraffic(socket?: Socket) {
  const lists: { readonly onStrayData: (() => void)[]; held: Buffer[] } = { onStrayData: [], held: [] };
  const flags = { isResponseExpected: false, isPaused: false, isBeforeResponse: true };
  return { socket, responses: 0, responseBytes: 0, ...flags, ...lists };
}

// undici closes a connection on which an unexpected response begins, without reporting it.
function reportStrayData(socket: Socket, traffic: Traffic): void {
  const destroy = socket.destroy.bind(socket);
  socket.destroy = (error) => {
    const isStray = error && (error.name === 'HTTPParserError' || error.message === 'bad response');
    if (isStray && !traffic.isResponseExpected) for (const onStrayData of traffic.onStrayData.splice(0)) onStrayData();
    return destroy(error);
  };
}

function dispatchOptions(
  { method, headers, body, onBodySent }: HttpRequest,
  url: URL,
  { proxy }: ConnectOptions,
  isKeepAlive: boolean,
) {
  // A forwarding proxy gets the whole URL, and reads its own credential.
  const plainProxy = url.protocol === 'http:' ? proxy : undefined;
  const authorization = plainProxy && proxyAuthorization(plainProxy);
  const headerList: string[] = [];
  for (const [name, value] of headers) headerList.push(name, value);
  if (authorization) headerList.push('Proxy-Authorization', authorization);
  if (body.length !== undefined) headerList.push('Content-Length', String(body.length));
  return {
    path: plainProxy ? url.href : url.pathname + url.search,
    method,
    headers: headerList,
    // undici also accepts any async iterable, and reads it once it is connected; its types allow only streams.
    body: (body instanceof Uint8Array && onBodySent ? body : bodyChunks(body)) as unknown as Readable,
    reset: !isKeepAlive,
  };
}

const MAX_QUEUED_BYTES = 256 * 1024;

// The queue of a body that is arriving; the connection is paused while more than 256 KiB wait to be read.
function createBodyQueue(traffic: Traffic) {
  let chunks: Buffer[] = [];
  let queuedBytes = 0;
  let end: { readonly error: unknown } | undefined;
  let wakeReader = (): void => {};
  const readChunks = async function* (): AsyncGenerator<Uint8Array> {
    for (;;) {
      const ready = chunks;
      chunks = [];
      queuedBytes = 0;
      if (traffic.isPaused) {
        traffic.isPaused = false;
        traffic.socket?.emit('readable');
      }
      yield* ready;
      if (chunks.length > 0) continue;
      if (end?.error !== undefined) throw end.error;
      if (end) return;
      await new Promise<void>((resolve) => {
        wakeReader = resolve;
      });
    }
  };
  return {
    body: { [Symbol.asyncIterator]: readChunks },
    completeBody: (): Buffer | undefined => (end && end.error === undefined ? concatChunks(chunks) : undefined),
    push: (chunk: Buffer): void => {
      chunks.push(chunk);
      queuedBytes += chunk.length;
      traffic.isPaused ||= queuedBytes > MAX_QUEUED_BYTES;
      wakeReader();
    },
    /** Ends it once; with an error, which the reader gets after the bytes before it. */
    end: (error?: unknown): void => {
      end ??= { error };
      wakeReader();
    },
  };
}

// Takes control of a socket's `read`. undici can pause its parser, but a parser that is paused when the connection ends throws
// an error that cannot be caught, and it takes an unsolicited `100 Continue` for a broken response. `onInterimResponse` is
// called for each 1xx response. A server may announce with a 408 that it closes an idle connection (RFC 9110, section 15.5.9):
// no response is missing.
function controlReading(socket: Socket, traffic: Traffic, onInterimResponse: () => void): void {
  const read = socket.read.bind(socket);
  const filterInterimHeads = (chunk: Buffer): Buffer | null => {
    const { passed, rest } = splitInterimHeads(concatChunks([...traffic.held, chunk]), onInterimResponse);
    traffic.isBeforeResponse = rest !== undefined;
    traffic.held = rest ? [rest] : [];
    return passed.length === 0 ? null : concatChunks(passed);
  };
  socket.read = (size) => {
    let chunk: Buffer | null = traffic.isPaused ? null : read(size);
    if (!chunk) return null;
    if (!traffic.isResponseExpected && TIMEOUT_NOTICE.test(chunk.toString('latin1'))) {
      socket.destroy();
      return null;
    }
    // A possible notice at the end is read separately, once it is known whether the response before it ends.
    const noticeStart = chunk.indexOf('HTTP/1.', Math.max(1, chunk.length - MAX_TIMEOUT_NOTICE_BYTES));
    if (noticeStart !== -1) {
      socket.unshift(chunk.subarray(noticeStart));
      chunk = chunk.subarray(0, noticeStart);
    }
    return traffic.isBeforeResponse ? filterInterimHeads(chunk) : chunk;
  };
}

const MAX_TIMEOUT_NOTICE_BYTES = 1024;
const TIMEOUT_NOTICE = /^HTTP\/1\.[01] 408\b.*\r\n(?:.+\r\n)*?connection:[ \t]*close\r\n/i;

const STATUS_PREFIX_BYTES = 'HTTP/1.1 100'.length;
const MAX_INTERIM_HEAD_BYTES = 16_384;

// The bytes that the parser may read before a response, and the start of an incomplete head. Leaves out each unsolicited
// `100 Continue`, which is valid (RFC 9110, section 15.2). The parser skips other interim responses itself.
function splitInterimHeads(bytes: Buffer, onInterimResponse: () => void): { passed: Buffer[]; rest?: Buffer } {
  const passed: Buffer[] = [];
  let rest = bytes;
  for (;;) {
    const start = rest.toString('latin1', 0, STATUS_PREFIX_BYTES);
    if (rest.length < STATUS_PREFIX_BYTES && 'HTTP/1.'.startsWith(start.slice(0, 7))) return { passed, rest };
    // 101 is not an interim response: it hands the connection over to another protocol.
    const isInterim = /^HTTP\/1\.[01] 1(?!01)\d\d$/.test(start);
    const end = isInterim ? rest.indexOf('\r\n\r\n') : -1;
    if (!isInterim || (end === -1 && rest.length > MAX_INTERIM_HEAD_BYTES)) return { passed: [...passed, rest] };
    if (end === -1) return { passed, rest };
    if (!start.endsWith('100')) passed.push(rest.subarray(0, end + 4));
    rest = rest.subarray(end + 4);
    onInterimResponse();
  }
}
