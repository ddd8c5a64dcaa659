import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Headers, header, type Request } from '../http/message.ts';
import { isLoopback } from '../http/proxies.ts';

/** A request as it came over a connection; its signal is aborted when the client goes away before it has its answer. */
export function incoming(request: IncomingMessage, response: ServerResponse): Request | undefined {
  const headers = headersOf(request);
  const url = urlOf(request.url ?? '/');
  if (!url) return undefined;
  const length = header(headers, 'content-length');
  const pieces = (): AsyncIterable<Uint8Array> => {
    if (asksToContinue(request)) response.writeContinue();
    // Once told to go on it is a client like others.
    delete request.headers.expect;
    return unread(request);
  };
  const body = { length: length === undefined ? undefined : Number(length), pieces };
  return { method: request.method ?? 'GET', url: url.href, headers, body, signal: gone(response) };
}

/** Why a request that another machine or a web page may have sent is refused; undefined where it is not. */
export function forbiddenReason({ url, headers }: Request): string | undefined {
  const own = `http://${header(headers, 'host') ?? ''}`;
  // A target that is a whole address names a host, too.
  const hosts = [own, url].filter((text) => URL.canParse(text) && isLoopback(new URL(text)));
  if (hosts.length < 2) return 'the Host header must be loopback';
  const origin = header(headers, 'origin');
  return origin === undefined || origin === own ? undefined : 'requests from other origins are refused';
}

/** True for a client that sends its body only when it is told to go on (RFC 9110). */
export function asksToContinue({ headers }: IncomingMessage): boolean {
  return headers.expect?.toLowerCase() === '100-continue';
}

/** What has not been read of a request. To leave off does not close the connection, on which the answer is still to go. */
export function unread(request: IncomingMessage): AsyncIterable<Uint8Array> {
  return request.iterator({ destroyOnReturn: false });
}

// A path, which may begin with two slashes, or a whole address as proxies are sent.
function urlOf(target: string): URL | undefined {
  const text = target.startsWith('/') ? `http://localhost${target}` : target;
  return URL.canParse(text) ? new URL(text) : undefined;
}

function headersOf({ rawHeaders }: IncomingMessage): Headers {
  return Array.from(
    { length: rawHeaders.length / 2 },
    (_, at) => [rawHeaders[at * 2] ?? '', rawHeaders[at * 2 + 1] ?? ''] as const,
  );
}

function gone(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) controller.abort(new Error('the client has gone'));
  });
  return controller.signal;
}
