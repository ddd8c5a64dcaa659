import { joinUrl } from '../config/base-url.ts';
import { noDeadline } from '../http/deadline.ts';
import { withDecompression } from '../http/decompress.ts';
import { getHeader, type Headers, type Response, type Send } from '../http/message.ts';
import { describeNetworkError } from '../http/network-errors.ts';
import { createRequestProgress, type RequestProgress, withRequestProgress } from '../http/request-progress.ts';
import { defaultTimeLimits, type StartTimer, TimeLimitError, withTimeLimits } from '../http/time-limits.ts';
import { HttpError } from './http-error.ts';

/** Has a chat body answered by another server, until nobody waits for the answer any more. */
export type Upstream = (body: Uint8Array, signal: AbortSignal | undefined) => Promise<Response>;

// What the caller may see of the other server's answer; the rest is between it and us.
const FORWARDED_HEADERS = ['content-type', 'retry-after', 'x-request-id'];

/**
 * An upstream at a base address, reached by `send` within the usual limits. The body goes on byte for byte; the caller's
 * credential never does, `token` goes instead. Throws Refusal 502 where the server cannot be reached, 504 where it is
 * silent for too long; an answer in which it falls silent is cut.
 */
export function createUpstream(baseUrl: URL, token: string | undefined, send: Send, after: StartTimer): Upstream {
  const authorization: Headers = token ? [['Authorization', `Bearer ${token}`]] : [];
  const url = joinUrl(baseUrl, '/v1/chat/completions');
  return async (body, signal) => {
    const headers: Headers = [
      ['Content-Type', 'application/json'],
      ['Accept', 'text/event-stream, application/json'],
      ...authorization,
    ];
    const progress = createRequestProgress();
    const limitedSend = withRequestProgress(progress)(
      withDecompression(withTimeLimits(defaultTimeLimits, noDeadline, progress, after)(send)),
    );
    const response = await limitedSend({ method: 'POST', url, headers, body, ...(signal && { signal }) }).catch(
      (error) => {
        throw toUpstreamError(error, progress);
      },
    );
    const forwarded = FORWARDED_HEADERS.flatMap((name) => {
      const value = getHeader(response.headers, name);
      return value === undefined ? [] : [[name, value] as const];
    });
    return { ...response, headers: forwarded };
  };
}

function toUpstreamError(error: unknown, { phase }: RequestProgress): HttpError {
  if (error instanceof TimeLimitError && phase !== 'nothing')
    return new HttpError(504, `the upstream server was silent for ${error.limitMs / 1000} s`);
  return new HttpError(502, `the upstream server could not be reached: ${describeNetworkError(error)}`);
}
