import type { IncomingMessage, ServerResponse } from 'node:http';
import { getHeader, type Headers, type Request } from '../http/message.ts';
import { isLoopbackUrl } from '../http/proxy.ts';

/** A request as it came over a connection; its signal is aborted when the client goes away before it has its answer. */
export function receiveRequest(request: IncomingMessage, response: ServerResponse): Request | undefined {
  const headers = pairHeaders(request);
  const url = parseTarget(request.url ?? '/');
  if (!url) return undefined;
  const length = getHeader(headers, 'content-length');
  const chunks = (): AsyncIterable<Uint8Array> => {
    if (expectsContinue(request)) response.writeContinue();
    // Once told to go on it is a client like others.
    delete request.headers.expect;
    return unreadChunks(request);
  };
  const body = { length: length === undefined ? undefined : Number(length), chunks };
  return { method: request.method ?? 'GET', url: url.href, headers, body, signal: disconnectSignal(response) };
}

/** Why a request that another machine or a web page may have sent is refused; undefined where it is not. */
export function forbiddenReason({ url, headers }: Request): string | undefined {
  const ownOrigin = `http://${getHeader(headers, 'host') ?? ''}`;
  // A target that is a whole address names a host, too.
  const hosts = [ownOrigin, url].filter((text) => URL.canParse(text) && isLoopbackUrl(new URL(text)));
  if (hosts.length < 2) return 'the Host header must be loopback';
  const origin = getHeader(headers, 'origin');
  return origin === undefined || origin === ownOrigin ? undefined : 'requests from other origins are refused';
}

/** True for a client that sends its body only when it is told to go on (RFC 9110). */
export function expectsContinue({ headers }: IncomingMessage): boolean {
  return headers.expect?.toLowerCase() === '100-continue';
}

/** What has not been read of a request. To leave off does not close the connection, on which the answer is still to go. */
export function unreadChunks(request: IncomingMessage): AsyncIterable<Uint8Array> {
  return request.iterator({ destroyOnReturn: false });
}

// A path, which may begin with two slashes, or a whole address as proxies are sent.
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

function disconnectSignal(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) controller.abort(new Error('the client has gone'));
  });
  return controller.signal;
}
