import { locationInDraft } from '../body/draft.ts';
import { Failure, type FailureCode, type FailureFacts, InterruptedError } from '../errors.ts';
import { collectBodyStart } from '../http/collect-body.ts';
import { getHeader, type Response } from '../http/message.ts';
import { describeNetworkError, isPermanentError } from '../http/network-errors.ts';
import { retryAfterMs } from '../http/retry-after.ts';
import { TimeLimitError } from '../http/time-limits.ts';
import { responseRequestId } from '../http/verbose-log.ts';
import { formatJsonPath, type JsonPath } from '../json/json-path.ts';
import { classifyStatus } from './classify-status.ts';
import { retryAdvice } from './idempotency.ts';
import type { RequestContext } from './request-context.ts';
import { MAX_ERROR_BYTES, parseServiceError } from './service-error.ts';

/** The failure of an exchange that brought no answer: decided by how far the request had come, never by the error's name. */
export function failureFromError(error: unknown, context: RequestContext): Failure {
  if (error instanceof Failure) return error;
  const { phase, sentBytes } = context.progress;
  const isSent = phase === 'all';
  if (error instanceof InterruptedError) {
    const outcome = isSent ? 'the request had been sent' : 'nothing was applied';
    // Who asked the process to end does not want it to try again.
    return new Failure(error.code, `${error.message}; ${outcome}`, {
      ...factsWithoutResponse(context),
      isPermanent: true,
    });
  }
  const facts: FailureFacts = { ...factsWithoutResponse(context), isPermanent: isPermanentError(error) };
  const reason = exchangeErrorReason(error);
  if (phase === 'nothing') return new Failure('unreachable', `the service could not be reached: ${reason}`, facts);
  if (!isSent)
    return new Failure('unreachable', `the request did not leave completely (${sentBytes} bytes): ${reason}`, facts);
  return new Failure('unknown', `the request was sent (${sentBytes} bytes), but no answer came: ${reason}`, facts);
}

/** What is known of a request of which no answer has come. */
export function factsWithoutResponse({ progress, ids, effect }: RequestContext): FailureFacts {
  const { phase, sentBytes: bytesSent, attempts } = progress;
  const isSent = phase === 'all';
  return {
    applied: isSent ? 'unknown' : 'no',
    phase,
    bytesSent,
    attempts,
    ids: isSent ? ids : {},
    hint: isSent ? retryAdvice(effect) : undefined,
  };
}

/** The failure of an answer whose status is not 2xx, with what the service said about it. `now` is in milliseconds since 1970. */
export async function failureFromStatus(response: Response, context: RequestContext, now: number): Promise<Failure> {
  const { status, statusText, headers } = response;
  const { phase, sentBytes: bytesSent, attempts } = context.progress;
  const waitMs = retryAfterMs(headers, now);
  const { code = 'refused', applied } = classifyStatus(status, getHeader(headers, 'retry-after') !== undefined);
  const serviceError = parseServiceError(await collectBodyStart(response.body, MAX_ERROR_BYTES));
  const location = status >= 300 && status < 400 ? getHeader(headers, 'location') : undefined;
  const detail = location ? `it redirects to ${location}, and redirects are not followed` : serviceError.message;
  const summary = `${statusMessages[code] ?? 'the service refused it'} (${`${status} ${statusText}`.trim()})`;
  return new Failure(code, detail ? `${summary}: ${detail}` : summary, {
    summary,
    status,
    requestId: responseRequestId(headers),
    applied,
    phase,
    bytesSent,
    attempts,
    retryAfter: waitMs,
    // A used up quota does not come back in a minute (SERVERS.md).
    isPermanent: code === 'limited' && /quota/i.test(serviceError.message ?? ''),
    ids: applied === 'unknown' ? context.ids : {},
    issues: serviceError.issues.map(({ path, message }) => ({
      path: formatJsonPath(path),
      at: isBodyPath(path, context) ? locationInDraft(context.draft, path) : '',
      message,
    })),
    hint: statusHint(code, context, location, waitMs === undefined ? undefined : { waitMs, now }),
  });
}

/** Why an exchange ended without its answer, in words. */
export function exchangeErrorReason(error: unknown): string {
  if (!(error instanceof TimeLimitError)) return describeNetworkError(error);
  const seconds = `${error.limitMs / 1000} s`;
  switch (error.limit) {
    case 'connect':
      return `no connection within ${seconds}`;
    case 'total':
      return `the time limit of ${seconds} was reached (--timeout sets it)`;
    case 'firstByte':
    case 'idle':
      return `silence for ${seconds}`;
  }
}

// A service may also speak of headers, of queries, or of members that only it knows.
function isBodyPath([first]: JsonPath, { operation }: RequestContext): boolean {
  return typeof first === 'string' && Object.hasOwn(operation.body, first);
}

const statusMessages: { readonly [code in FailureCode]?: string } = {
  credentials: 'the service refused the credentials',
  limited: 'the service is busy',
  failed: 'the service failed',
  unknown: 'no answer came from behind the gateway',
};

function statusHint(
  code: FailureCode,
  { effect }: RequestContext,
  location: string | undefined,
  requestedWait: { waitMs: number; now: number } | undefined,
): string | undefined {
  if (code === 'credentials') return 'svc auth status shows which credentials are used';
  if (code === 'limited')
    return requestedWait ? retryAfterHint(requestedWait.waitMs, requestedWait.now) : 'try again later';
  if (code === 'failed' || code === 'unknown') return retryAdvice(effect);
  return location ? 'if that is the service, make it the base address' : undefined;
}

// The latest time a Date can hold; a server may ask for any wait.
const MAX_DATE_MS = 8.64e15;

function retryAfterHint(waitMs: number, now: number): string {
  const then = new Date(Math.min(now + waitMs, MAX_DATE_MS)).toISOString().replace(/\.\d+Z$/, 'Z');
  return `the service asks to wait ${Math.ceil(waitMs / 1000)} s: try again after ${then}`;
}
