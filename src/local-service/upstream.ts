import { joinUrl } from '../config/base-url.ts';
import { decompressResponse } from '../http/decompress.ts';
import { getHeader, type HttpHeaders, type HttpRequest, type HttpResponse, type Send } from '../http/message.ts';
import { describeNetworkError } from '../http/network-errors.ts';
import { createRequestProgress, type RequestProgress, withRequestProgress } from '../http/request-progress.ts';
import { noDeadline, type StartTimer, TimeLimitError, withTimeLimits } from '../http/time-limits.ts';
import { bodySecretForms, replaceSecrets } from '../output/reporter.ts';
import { redactChunks } from './body-copy.ts';
import { HttpError } from './responses.ts';

/** Sends a request to a path below another base URL, with the headers about bodies only. Throws HttpError 502 or 504. */
export type Upstream = (
  path: `/${string}`,
  request: Pick<HttpRequest, 'method' | 'headers' | 'body' | 'signal'>,
) => Promise<HttpResponse>;

const REQUEST_HEADERS = ['content-type', 'content-encoding', 'accept'];
// Cookies and the like concern only the upstream server and this service.
const RESPONSE_HEADERS = ['content-type', 'retry-after', 'x-request-id'];

/**
 * An upstream server at a base URL, reached by `send` within the usual limits. The body is forwarded byte for byte; the
 * caller's credentials never are: `token` is sent instead, and redacted if the server repeats it. Throws HttpError
 * 502 if the server cannot be reached or sends no response, 504 if it is silent for too long; a response that falls silent is cut.
 */
export function createUpstream(baseUrl: URL, token: string | undefined, send: Send, after: StartTimer): Upstream {
  const authorization: HttpHeaders = token ? [['Authorization', `Bearer ${token}`]] : [];
  const secrets = bodySecretForms([token]);
  return async (path, { method, body, headers, signal }) => {
    const url = joinUrl(baseUrl, path);
    const progress = createRequestProgress();
    const limitedSend = withRequestProgress(progress)(withTimeLimits(noDeadline, progress, after)(send));
    const response = await limitedSend({
      method,
      url,
      headers: [...pickHeaders(headers, REQUEST_HEADERS), ...authorization],
      body,
      ...(signal && { signal }),
    }).catch((error) => {
      throw toUpstreamError(error, baseUrl, progress);
    });
    return {
      status: response.status,
      statusText: response.statusText,
      headers: pickHeaders(response.headers, RESPONSE_HEADERS).map(
        ([name, value]) => [name, replaceSecrets(value, secrets)] as const,
      ),
      body: redactChunks(decompressResponse(response).body, secrets),
    };
  };
}

function pickHeaders(headers: HttpHeaders, names: readonly string[]): HttpHeaders {
  return names.flatMap((name) => {
    const value = getHeader(headers, name);
    return value === undefined ? [] : [[name, value] as const];
  });
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
