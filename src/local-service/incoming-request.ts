import { Buffer } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { getHeader, type Headers, type Request, type Response } from '../http/message.ts';
import { isLoopbackUrl } from '../http/proxy.ts';
import { jsonResponse } from './responses.ts';

// Below it reading a body piece by piece would take longer than the rest of the request.
const MAX_WHOLE_BODY_BYTES = 16 * 1024;

/** Calls back when the service shuts down; the function it returns withdraws the callback. */
export type OnShutdown = (callback: () => void) => () => void;

/**
 * Converts a request of Node; undefined if its target is not a URL. Its signal is aborted when the client
 * disconnects before it has its response, or when the service shuts down.
 */
export function receiveRequest(
  request: IncomingMessage,
  response: ServerResponse,
  onShutdown: OnShutdown,
): Request | undefined {
  const headers = pairHeaders(request);
  const url = parseTarget(request.url ?? '/');
  if (!url) return undefined;
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
    url: url.href,
    headers,
    body: { length, chunks, ...(isSmall && { whole: () => readWholeBody(request) }) },
    signal: disconnectSignal(response, onShutdown),
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

/** The response to a request that another machine or a web page may have sent; undefined for all others. */
export function refuseForeignRequest({ url, headers }: Request): Response | undefined {
  if (headers.filter(([name]) => name.toLowerCase() === 'host').length > 1)
    return jsonResponse(400, { detail: 'the request has more than one Host header' });
  const detail = foreignSource(url, headers);
  return detail === undefined ? undefined : jsonResponse(403, { detail });
}

function foreignSource(url: string, headers: Headers): string | undefined {
  const host = getHeader(headers, 'host') ?? '';
  const ownOrigin = `http://${host}`;
  // An absolute target names a host, too. A URL also parses with a user, which others could take for the host.
  const isLoopback = (text: string): boolean =>
    URL.canParse(text) && isLoopbackUrl(new URL(text)) && new URL(text).username + new URL(text).password === '';
  if (!/^[\w.:[\]-]+$/.test(host) || !isLoopback(ownOrigin) || !(url.startsWith(OWN_ORIGIN) || isLoopback(url)))
    return 'the Host header must be loopback';
  const origin = getHeader(headers, 'origin');
  if (origin !== undefined && origin !== ownOrigin) return 'requests from other origins are rejected';
  // Browsers send it with requests that carry no Origin.
  const site = getHeader(headers, 'sec-fetch-site')?.trim().toLowerCase();
  return site === 'cross-site' || site === 'same-site' ? 'requests from other sites are rejected' : undefined;
}

/** True for a client that sends its body only after 100 Continue (RFC 9110). */
export function expectsContinue({ headers }: IncomingMessage): boolean {
  return headers.expect?.toLowerCase() === '100-continue';
}

/** The unread rest of a body. Leaving the loop early does not close the connection, which the response still needs. */
export function unreadChunks(request: IncomingMessage): AsyncIterable<Uint8Array> {
  return request.iterator({ destroyOnReturn: false });
}

const OWN_ORIGIN = 'http://localhost/';

// A path, which may begin with two slashes, or an absolute URL as proxies get it.
function parseTarget(target: string): URL | undefined {
  const text = target.startsWith('/') ? `${OWN_ORIGIN}${target.slice(1)}` : target;
  return URL.canParse(text) ? new URL(text) : undefined;
}

function pairHeaders({ rawHeaders }: IncomingMessage): Headers {
  return Array.from(
    { length: rawHeaders.length / 2 },
    (_, at) => [rawHeaders[at * 2] ?? '', rawHeaders[at * 2 + 1] ?? ''] as const,
  );
}

function disconnectSignal(response: ServerResponse, onShutdown: OnShutdown): AbortSignal {
  const controller = new AbortController();
  const withdraw = onShutdown(() => controller.abort(new Error('the service was stopped')));
  response.once('close', () => {
    withdraw();
    if (!response.writableFinished) controller.abort(new Error('the client disconnected'));
  });
  return controller.signal;
}
