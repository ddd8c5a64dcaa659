import { Buffer } from 'node:buffer';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Failure } from '../errors.ts';
import { describeFileError, errorCode } from '../files/file-errors.ts';
import { getHeader, type HttpRequest, type HttpResponse, pairHeaders } from '../http/message.ts';
import { isLoopbackUrl } from '../http/proxy.ts';
import type { StartTimer } from '../http/time-limits.ts';
import { ConnectionResetError } from './inject-faults.ts';
import type { LocalService } from './open-local-service.ts';
import { jsonResponse } from './responses.ts';
import { serviceLimits } from './service-context.ts';

// For the error events of streams that are still open after the limit, if that is shorter.
const MIN_LAST_WRITES_MS = 250;

/**
 * Binds a service to a port of 127.0.0.1; 0 takes a free one. Requests for another host or from another origin are refused,
 * because any web page can send to loopback. Throws Failure `local_file` if the port is taken.
 */
export async function listenOnLoopback(
  service: Pick<LocalService, 'send' | 'observe'>,
  port: number,
  after: StartTimer,
  timeouts: { readonly [limit in 'headMs' | 'bodyMs' | 'drainMs']: number },
) {
  // A request may take long, as a gigabyte does; the rate of its body is what has a limit.
  const server = createServer({
    requestTimeout: 0,
    headersTimeout: timeouts.headMs,
    connectionsCheckingInterval: Math.min(timeouts.headMs, 5000),
  });
  server.maxConnections = serviceLimits.connections;
  const inFlight = new Set<ServerResponse>();
  const exchanges = new Set<Promise<void>>();
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    inFlight.add(response);
    const stopWatching = watchBodyRate(request, timeouts.bodyMs, after);
    response.once('close', () => {
      inFlight.delete(response);
      stopWatching();
    });
    const exchange = handleConnection(service, request, response)
      .catch((error) => {
        if (error instanceof ConnectionResetError) request.socket.resetAndDestroy();
        else if (!response.writableEnded) response.destroy();
      })
      .finally(() => exchanges.delete(exchange));
    exchanges.add(exchange);
  };
  // A client that expects 100 Continue gets it when its body is read.
  server.on('request', onRequest).on('checkContinue', onRequest);
  // Node does not close responses that wait for their turn on a connection that ends.
  server.on('connection', (socket) =>
    socket.once('close', () => {
      for (const response of inFlight)
        if (!response.socket && response.req.socket === socket) response.destroy().emit('close');
    }),
  );
  const boundPort = await bindPort(server, port);
  const within = (limitMs: number, ends: Iterable<Promise<void>>): Promise<unknown> =>
    Promise.race([Promise.all(ends), new Promise<void>((resolve) => after(limitMs, resolve))]);
  const responseEnds = (): Promise<void>[] =>
    Array.from(inFlight, (response) => new Promise<void>((resolve) => void response.once('close', resolve)));
  return {
    url: `http://127.0.0.1:${boundPort}`,
    /** Lets requests in flight finish. After the limit, event streams end with an error event, and other responses are cut. */
    close: async (): Promise<void> => {
      const closed = new Promise<void>((resolve) => void server.close(() => resolve()));
      await within(timeouts.drainMs, responseEnds());
      for (const response of inFlight) response.emit('shutdown');
      await within(Math.max(timeouts.drainMs, MIN_LAST_WRITES_MS), responseEnds());
      server.closeAllConnections();
      await closed;
      // The log and the recording of what was cut.
      await within(MIN_LAST_WRITES_MS, exchanges);
    },
  };
}

async function bindPort(server: Server, port: number): Promise<number> {
  await once(server.listen(port, '127.0.0.1'), 'listening').catch((error) => {
    const reason = errorCode(error) === 'EADDRINUSE' ? 'it is in use' : describeFileError(error);
    const hint = 'use --port 0 for any free port';
    throw new Failure('local_file', `cannot listen on port ${port}: ${reason}`, { hint });
  });
  const address = server.address();
  return typeof address === 'object' && address ? address.port : port;
}

async function handleConnection(
  { send, observe }: Pick<LocalService, 'send' | 'observe'>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const received = receiveRequest(request, response);
  if (!received) {
    const invalid = jsonResponse(400, { detail: 'the request target is not a valid URL' });
    return writeResponse(invalid, request, response);
  }
  const isAmbiguous = received.headers.filter(([name]) => name.toLowerCase() === 'host').length > 1;
  const detail = isAmbiguous ? 'the request has more than one Host header' : foreignSource(received);
  const respond = detail ? async () => jsonResponse(isAmbiguous ? 400 : 403, { detail }) : send;
  await writeResponse(await observe(respond)(received), request, response);
}

// Closes the connection of a request whose body arrives more slowly than the minimum rate over a whole period. Periods in which
// the service itself does not read the body do not count.
function watchBodyRate(request: IncomingMessage, periodMs: number, after: StartTimer): () => void {
  const minBytes = (serviceLimits.minBodyBytesPerSecond * periodMs) / 1000;
  let lastBytes = request.socket.bytesRead;
  const check = (): void => {
    if (request.complete || request.destroyed) return;
    const { bytesRead } = request.socket;
    const isUnread = request.readableLength >= request.readableHighWaterMark || expectsContinue(request);
    if (!isUnread && bytesRead - lastBytes < minBytes) {
      request.destroy();
      return;
    }
    lastBytes = bytesRead;
    cancel = after(periodMs, check);
  };
  let cancel = after(periodMs, check);
  return () => cancel();
}

// Below it reading a body piece by piece would take longer than the rest of the request.
const MAX_WHOLE_BODY_BYTES = 16 * 1024;

// Converts a request of Node; undefined if its target is not a URL. Its signal is aborted when the client disconnects before it
// has its response, or when the service shuts down.
function receiveRequest(request: IncomingMessage, response: ServerResponse): HttpRequest | undefined {
  const headers = pairHeaders(request.rawHeaders);
  // A path, which may begin with two slashes, or an absolute URL as proxies get it.
  const { url: target = '/' } = request;
  const url = target.startsWith('/') ? `${OWN_ORIGIN}${target.slice(1)}` : target;
  if (!URL.canParse(url)) return undefined;
  const declared = getHeader(headers, 'content-length');
  const length = declared === undefined ? undefined : Number(declared);
  const chunks = (): AsyncIterable<Uint8Array> => {
    if (expectsContinue(request)) response.writeContinue();
    // From here on, the request is like any other.
    delete request.headers.expect;
    return unreadChunks(request);
  };
  const isSmall = length !== undefined && length <= MAX_WHOLE_BODY_BYTES && !expectsContinue(request);
  return {
    method: request.method ?? 'GET',
    url: new URL(url).href,
    headers,
    body: { length, chunks, ...(isSmall && { whole: () => readWholeBody(request) }) },
    signal: disconnectSignal(response),
  };
}

function readWholeBody(request: IncomingMessage): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    request
      .on('data', (chunk) => chunks.push(chunk))
      .once('end', () => resolve(Buffer.concat(chunks)))
      .once('error', reject)
      // An error is not created for a request that has none: its stack trace takes a fifth of the time of a request.
      .once('close', () => request.complete || reject(new Error('the connection was closed')));
  });
}

function foreignSource({ method, url, headers }: HttpRequest): string | undefined {
  const host = getHeader(headers, 'host') ?? '';
  const ownOrigin = `http://${host}`;
  // An absolute target names a host, too. A URL also parses with a user, which others could take for the host.
  const isLoopback = (text: string): boolean =>
    URL.canParse(text) && isLoopbackUrl(new URL(text)) && new URL(text).username + new URL(text).password === '';
  if (!/^[\w.:[\]-]+$/.test(host) || !isLoopback(ownOrigin) || !(url.startsWith(OWN_ORIGIN) || isLoopback(url)))
    return 'the Host header must be loopback';
  // Of a header that is sent twice, each value must be allowed.
  const valuesOf = (name: string): string[] =>
    headers.flatMap(([candidate, value]) => (candidate.toLowerCase() === name ? value : []));
  if (valuesOf('origin').some((origin) => origin !== ownOrigin)) return 'requests from other origins are rejected';
  // The file that --open hands to the browser is another site. The page itself has no data; the code is behind the #.
  const isNavigation = [...valuesOf('sec-fetch-mode'), ...valuesOf('sec-fetch-dest')].join() === 'navigate,document';
  if (method === 'GET' && new URL(url).pathname === '/' && isNavigation) return undefined;
  // Browsers send it with requests that carry no Origin.
  const isForeign = valuesOf('sec-fetch-site').some((sites) => /\b(cross|same)-site\b/i.test(sites));
  return isForeign ? 'requests from other sites are rejected' : undefined;
}

// True for a client that sends its body only after 100 Continue (RFC 9110).
function expectsContinue({ headers }: IncomingMessage): boolean {
  return headers.expect?.toLowerCase() === '100-continue';
}

/** The unread rest of a body. Leaving the loop early does not close the connection, which the response still needs. */
function unreadChunks(request: IncomingMessage): AsyncIterable<Uint8Array> {
  return request.iterator({ destroyOnReturn: false });
}

const OWN_ORIGIN = 'http://localhost/';

function disconnectSignal(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  response.once('shutdown', () => controller.abort(new Error('the service was stopped')));
  response.once('close', () => {
    if (!response.writableFinished) controller.abort(new Error('the client disconnected'));
  });
  return controller.signal;
}

const MAX_DISCARDED_BYTES = 256 * 1024 * 1024;

const SHUTDOWN_EVENT = `data: ${JSON.stringify({
  error: { message: 'the service was stopped', type: 'internal_error', param: null, code: 503 },
})}\n\n`;

// At shutdown an event stream that is still open ends with an error event, and any other response is cut.
async function writeResponse(
  { status, headers, body, completeBody }: HttpResponse,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  // The rest of a body that was refused unread would be taken for the next request.
  if (!request.complete) response.setHeader('Connection', 'close');
  response.writeHead(status, headers.flat());
  if (completeBody && request.complete && !response.destroyed) return void response.end(completeBody);
  const isEventStream = getHeader(headers, 'content-type')?.startsWith('text/event-stream');
  const stop = (): void => void (isEventStream ? response.end(SHUTDOWN_EVENT) : response.destroy());
  response.once('shutdown', stop);
  try {
    for await (const chunk of body) {
      if (response.destroyed || response.writableEnded) return;
      if (!response.write(chunk)) await waitForDrain(response);
    }
    await discardUnreadBody(request);
    response.end();
  } finally {
    response.off('shutdown', stop);
  }
}

// Closing while a client still sends would reset the connection and lose the response, so the rest is read, up to a limit.
async function discardUnreadBody(request: IncomingMessage): Promise<void> {
  // A client that got no 100 Continue sends no body.
  if (request.complete || request.destroyed || expectsContinue(request)) return;
  let remainingBytes = MAX_DISCARDED_BYTES;
  try {
    for await (const chunk of unreadChunks(request)) {
      remainingBytes -= chunk.length;
      if (remainingBytes <= 0) return;
    }
  } catch {
    // A client that disconnected waits for no response.
  }
}

function waitForDrain(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const onWritable = (): void => {
      response.off('drain', onWritable).off('close', onWritable);
      resolve();
    };
    response.on('drain', onWritable).on('close', onWritable);
  });
}
