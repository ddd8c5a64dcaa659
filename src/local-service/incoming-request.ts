import type { IncomingMessage, ServerResponse } from 'node:http';
import { getHeader, type Headers, type Request } from '../http/message.ts';
import { isLoopbackUrl } from '../http/proxy.ts';

/**
 * A request as it came over a connection; undefined where its target is not a URL. Its signal is aborted when the client
 * disconnects before it has its response, or when the service shuts down.
 */
export function receiveRequest(
  request: IncomingMessage,
  response: ServerResponse,
  shutdown: AbortSignal,
): Request | undefined {
  const headers = pairHeaders(request);
  const url = parseTarget(request.url ?? '/');
  if (!url) return undefined;
  const length = getHeader(headers, 'content-length');
  const chunks = (): AsyncIterable<Uint8Array> => {
    if (expectsContinue(request)) response.writeContinue();
    // From here on it is a client like others.
    delete request.headers.expect;
    return unreadChunks(request);
  };
  const body = { length: length === undefined ? undefined : Number(length), chunks };
  return {
    method: request.method ?? 'GET',
    url: url.href,
    headers,
    body,
    signal: disconnectSignal(response, shutdown),
  };
}

/** Why a request that another machine or a web page may have sent is refused; undefined where it is not. */
export function forbiddenReason({
  url,
  headers,
}: Request): { readonly status: 400 | 403; readonly detail: string } | undefined {
  if (headers.filter(([name]) => name.toLowerCase() === 'host').length > 1)
    return { status: 400, detail: 'the request has more than one Host header' };
  const detail = foreignSource(url, headers);
  return detail === undefined ? undefined : { status: 403, detail };
}

function foreignSource(url: string, headers: Headers): string | undefined {
  const ownOrigin = `http://${getHeader(headers, 'host') ?? ''}`;
  // An absolute target names a host, too.
  const hosts = [ownOrigin, url].filter((text) => URL.canParse(text) && isLoopbackUrl(new URL(text)));
  if (hosts.length < 2) return 'the Host header must be loopback';
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

// A path, which may begin with two slashes, or an absolute URL as proxies get it.
function parseTarget(target: string): URL | undefined {
  const text = target.startsWith('/') ? `http://localhost${target}` : target;
  return URL.canParse(text) ? new URL(text) : undefined;
}

function pairHeaders({ rawHeaders }: IncomingMessage): Headers {
  return Array.from(
    { length: rawHeaders.length / 2 },
    (_, at) => [rawHeaders[at * 2] ?? '', rawHeaders[at * 2 + 1] ?? ''] as const,
  );
}

function disconnectSignal(response: ServerResponse, shutdown: AbortSignal): AbortSignal {
  const controller = new AbortController();
  const onShutdown = (): void => controller.abort(shutdown.reason);
  shutdown.addEventListener('abort', onShutdown, { once: true });
  response.once('close', () => {
    shutdown.removeEventListener('abort', onShutdown);
    if (!response.writableFinished) controller.abort(new Error('the client disconnected'));
  });
  return controller.signal;
}
