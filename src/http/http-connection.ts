import type { Buffer } from 'node:buffer';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import Client from 'undici/lib/dispatcher/client.js';
import { concatChunks } from './body-chunks.ts';
import { type HttpRequest, type HttpResponse, pairHeaders } from './message.ts';
import { type ConnectOptions, openSocket } from './open-socket.ts';
import { proxyAuthorization } from './proxy.ts';
import { bodyChunks } from './request-progress.ts';
import type { StartTimer } from './time-limits.ts';

/** One connection to an origin, made when it is first needed; it carries one exchange at a time. */
export interface HttpConnection {
  readonly origin: string;
  readonly exchange: (request: HttpRequest, url: URL) => Promise<HttpResponse>;
  /** False after 100 responses, or 256 KiB of them: stray data makes all responses of a connection doubtful. */
  readonly isReusable: () => boolean;
  /** Closes the connection gracefully: reads remaining data for at most 500 ms. The timer must keep the process alive. */
  readonly finish: (startTimer: StartTimer) => Promise<void>;
  /** Ends it at once; its exchange fails with the reason. */
  readonly destroy: (reason?: unknown) => Promise<void>;
}

// Servers wait longer than this for the next request, so no request is sent on a connection that is about to be closed.
const MAX_IDLE_MS = 1000;

const MAX_FINISH_MS = 500;
const MAX_EXCHANGES = 100;
const MAX_RESPONSE_BYTES_CARRIED = 256 * 1024;

/** A connection to the origin of a URL. `isKeepAlive`: for several exchanges in sequence. */
export function createConnection(url: URL, options: ConnectOptions, isKeepAlive: boolean): HttpConnection {
  // Only undici may end a connection that it has taken over: it fails if one closes by itself while it does not read.
  let connectAbort = new AbortController();
  let traffic = createTraffic();
  let control: ReadControl | undefined;
  let openedSocket: Socket | undefined;
  let arrivingBody: BodyQueue | undefined;
  let onInterimResponse: HttpRequest['onInterimResponse'];
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
      openSocket(url, options, connectAbort.signal).then(
        (socket) => {
          traffic = createTraffic();
          openedSocket = socket;
          control = controlReading(socket, traffic, () => onInterimResponse?.());
          reportStrayData(socket, traffic);
          done(null, socket);
        },
        (error) => done(error, null),
      );
    },
  });
  const destroy = async (reason?: unknown): Promise<void> => {
    // Otherwise, a body without a length would look complete.
    if (reason !== undefined) arrivingBody?.fail(reason);
    connectAbort.abort(reason);
    await client.destroy(reason instanceof Error ? reason : null);
  };
  return {
    origin: url.origin,
    destroy,
    finish: async (startTimer) => {
      if (openedSocket?.destroyed === false) await endSocket(openedSocket, startTimer);
      await destroy();
    },
    isReusable: () => traffic.responses < MAX_EXCHANGES && traffic.responseBytes < MAX_RESPONSE_BYTES_CARRIED,
    exchange: (request, to) => {
      const { onBodySent, onStrayData } = request;
      onInterimResponse = request.onInterimResponse;
      control?.expectResponse();
      return new Promise((resolve, reject) => {
        client.dispatch(dispatchOptions(request, to, options, isKeepAlive), {
          onConnect: () => {
            traffic.isResponseExpected = true;
            onBodySent?.();
          },
          onHeaders: (status, rawHeaders, _, statusText) => {
            // An interim response.
            if (status < 200) return true;
            const bodyQueue = createBodyQueue(control);
            arrivingBody = bodyQueue;
            // The body of a short response is in the packet of its headers, which is read to its end before this runs.
            queueMicrotask(() => {
              const headers = pairHeaders(rawHeaders.map((text) => text.toString('latin1')));
              resolve({ status, statusText, headers, body: bodyQueue.body, completeBody: bodyQueue.completeBody() });
            });
            return true;
          },
          onData: (chunk) => {
            traffic.responseBytes += chunk.length;
            arrivingBody?.push(chunk);
            return true;
          },
          onComplete: () => {
            traffic.isResponseExpected = false;
            traffic.responses += 1;
            if (onStrayData) traffic.onStrayData.push(onStrayData);
            arrivingBody?.end();
          },
          onError: (error) => {
            arrivingBody?.fail(error);
            reject(error);
          },
        });
      });
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

interface Traffic {
  isResponseExpected: boolean;
  responses: number;
  responseBytes: number;
  readonly onStrayData: (() => void)[];
}

function createTraffic(): Traffic {
  return { isResponseExpected: false, responses: 0, responseBytes: 0, onStrayData: [] };
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
): Dispatcher.DispatchOptions {
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
    // Bytes with `onBodySent` are passed as they are. undici also accepts any async iterable, and reads it once it is
    // connected; its types allow only streams.
    body: (body instanceof Uint8Array && onBodySent ? body : bodyChunks(body)) as unknown as Readable,
    reset: !isKeepAlive,
  };
}

/** A body that is arriving. A slow reader pauses the connection. */
interface BodyQueue {
  readonly body: AsyncIterable<Uint8Array>;
  /** The whole body if it has arrived and none of it was read; undefined otherwise. */
  readonly completeBody: () => Buffer | undefined;
  readonly push: (chunk: Buffer) => void;
  readonly end: () => void;
  readonly fail: (error: unknown) => void;
}

const MAX_QUEUED_BYTES = 256 * 1024;

/** An empty queue for a body; the connection is paused while more than 256 KiB wait to be read. */
function createBodyQueue(control: ReadControl | undefined): BodyQueue {
  let chunks: Buffer[] = [];
  let queuedBytes = 0;
  let isPaused = false;
  let end: { readonly error?: unknown } | undefined;
  let wakeReader = (): void => {};
  const readChunks = async function* (): AsyncGenerator<Uint8Array> {
    for (;;) {
      const ready = chunks;
      chunks = [];
      queuedBytes = 0;
      if (isPaused) {
        isPaused = false;
        control?.resume();
      }
      yield* ready;
      if (chunks.length > 0) continue;
      if (end && 'error' in end) throw end.error;
      if (end) return;
      await new Promise<void>((resolve) => {
        wakeReader = resolve;
      });
    }
  };
  return {
    body: { [Symbol.asyncIterator]: readChunks },
    completeBody: () => (end && !('error' in end) ? concatChunks(chunks) : undefined),
    push: (chunk) => {
      chunks.push(chunk);
      queuedBytes += chunk.length;
      if (queuedBytes > MAX_QUEUED_BYTES && !isPaused) {
        isPaused = true;
        control?.pause();
      }
      wakeReader();
    },
    end: () => {
      end ??= {};
      wakeReader();
    },
    fail: (error) => {
      end ??= { error };
      wakeReader();
    },
  };
}

/** Control over what an HTTP parser reads from a socket. */
interface ReadControl {
  readonly pause: () => void;
  readonly resume: () => void;
  /** To be called before each request: interim responses may come before the next response. */
  readonly expectResponse: () => void;
}

// Takes control of a socket's `read`. undici can pause its parser, but a parser that is paused when the connection ends throws
// an error that cannot be caught, and it takes an unsolicited `100 Continue` for a broken response. `onInterimResponse` is
// called for each 1xx response. A server may announce with a 408 that it closes an idle connection (RFC 9110, section 15.5.9):
// no response is missing.
function controlReading(socket: Socket, traffic: Traffic, onInterimResponse: () => void): ReadControl {
  const read = socket.read.bind(socket);
  let isPaused = false;
  let isBeforeResponse = true;
  let held: Buffer[] = [];
  const filterInterimHeads = (chunk: Buffer): Buffer | null => {
    const { passed, rest } = splitInterimHeads(concatChunks([...held, chunk]), onInterimResponse);
    isBeforeResponse = rest !== undefined;
    held = rest ? [rest] : [];
    return passed.length === 0 ? null : concatChunks(passed);
  };
  socket.read = (size) => {
    let chunk: Buffer | null = isPaused ? null : read(size);
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
    return isBeforeResponse ? filterInterimHeads(chunk) : chunk;
  };
  return {
    pause: () => {
      isPaused = true;
    },
    resume: () => {
      isPaused = false;
      socket.emit('readable');
    },
    expectResponse: () => {
      isBeforeResponse = true;
      held = [];
    },
  };
}

// Enough for a notice with an HTML page.
const MAX_TIMEOUT_NOTICE_BYTES = 1024;
const TIMEOUT_NOTICE = /^HTTP\/1\.[01] 408\b.*\r\n(?:.+\r\n)*?connection:[ \t]*close\r\n/i;

const STATUS_PREFIX_BYTES = 'HTTP/1.1 100'.length;
const MAX_INTERIM_HEAD_BYTES = 16_384;

// The bytes that the parser may read before a response, and the start of an incomplete head. Leaves out each unsolicited
// `100 Continue`, which is valid (RFC 9110, section 15.2). The parser skips other interim responses itself.
function splitInterimHeads(
  bytes: Buffer,
  onInterimResponse: () => void,
): { readonly passed: Buffer[]; readonly rest?: Buffer } {
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
