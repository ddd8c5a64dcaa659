import { joinUrl } from '../config/base-url.ts';
import { decompressResponse } from '../http/decompress-response.ts';
import { getHeader, type HttpHeaders, type HttpRequest, type HttpResponse, type Send } from '../http/message.ts';
import { describeNetworkError } from '../http/network-errors.ts';
import {
  noDeadline,
  type RequestProgress,
  type StartTimer,
  TimeLimitError,
  watchExchange,
} from '../http/time-limits.ts';
import { bodySecretForms, redactChunks, replaceSecrets } from '../output/redaction.ts';
import { HttpError } from './responses.ts';

/** Sends a request with the headers about bodies only. Throws HttpError 502 (no connection or response) or 504 (silence). */
export type Upstream = (
  path: `/${string}`,
  request: Pick<HttpRequest, 'method' | 'headers' | 'body' | 'signal'>,
) => Promise<HttpResponse>;

const REQUEST_HEADERS = ['content-type', 'content-encoding', 'accept'];
// What concerns one connection, the compressed body or the origin of the upstream server. A client gets every other header.
const OWN_RESPONSE_HEADERS =
  /^(connection|keep-alive|te|trailer|transfer-encoding|upgrade|proxy-.*|content-(encoding|length)|location|set-cookie|access-control-.*|alt-svc|clear-site-data|strict-transport-security)$/i;

/**
 * An upstream server at a base URL, reached by `send` within the usual limits. The caller's credentials are never forwarded:
 * `token` is sent instead, and redacted if the server repeats it. A response that falls silent is cut.
 */
export function createUpstream(baseUrl: URL, token: string | undefined, send: Send, after: StartTimer): Upstream {
  const authorization: HttpHeaders = token ? [['Authorization', `Bearer ${token}`]] : [];
  const secrets = bodySecretForms([token]);
  return async (path, { method, body, headers, signal }) => {
    const url = joinUrl(baseUrl, path);
    const progress: RequestProgress = { phase: 'nothing', sentBytes: 0, attempts: 0 };
    const forwarded = REQUEST_HEADERS.flatMap((name) => {
      const value = getHeader(headers, name);
      return value === undefined ? [] : [[name, value] as const];
    });
    const request = { method, url, headers: [...forwarded, ...authorization], body, ...(signal && { signal }) };
    const watched = watchExchange(noDeadline, progress, after)(send);
    const response = await watched(request).catch((error) => {
      throw toUpstreamError(error, baseUrl, progress);
    });
    return {
      status: response.status,
      statusText: response.statusText,
      headers: response.headers
        .filter(([name]) => !OWN_RESPONSE_HEADERS.test(name))
        .map(([name, value]) => [name, replaceSecrets(value, secrets)] as const),
      body: redactChunks(decompressResponse(response, () => {}).body, secrets),
    };
  };
}

function toUpstreamError(error: unknown, baseUrl: URL, { phase }: RequestProgress): HttpError {
  if (error instanceof TimeLimitError && phase !== 'nothing')
    return new HttpError(504, `the upstream server at ${baseUrl.origin} was silent for ${error.limitMs / 1000} s`);
  const reason = describeNetworkError(error);
  return new HttpError(
    502,
    phase === 'nothing'
      ? `could not connect to the upstream server at ${baseUrl.origin}: ${reason}`
      : `the upstream server at ${baseUrl.origin} sent no valid response: ${reason}`,
  );
}
