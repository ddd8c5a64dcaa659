import {
  type AppliedState,
  Failure,
  type FailureCode,
  type FailureFacts,
  InterruptedError,
  rootCause,
} from '../errors.ts';
import {
  describeNetworkError,
  isClosedUnheard,
  isInvalidResponseError,
  isPermanentError,
  networkErrorHint,
} from '../http/network-errors.ts';
import { TimeLimitError } from '../http/time-limits.ts';
import { progressFacts, type RequestContext, retryAdvice, serviceName } from './request.ts';

/**
 * The failure of an exchange without a complete response: decided by how far the request came, never by the name of the
 * error. `hasStatus`: the status and the headers of a response have arrived.
 */
export function failureFromError(error: unknown, context: RequestContext, hasStatus = false): Failure {
  if (error instanceof Failure) return error;
  const { phase, sentBytes } = context.progress;
  if (error instanceof InterruptedError) {
    const outcome = phase === 'all' ? `the request was sent${mayBeApplied(context)}` : 'nothing was applied';
    // A user who interrupts svc does not want a retry.
    const facts = { ...factsWithoutResponse(context), isPermanent: true };
    return new Failure(error.code, `${error.message}; ${outcome}`, facts);
  }
  if (isMemoryFailure(error))
    return new Failure('local_file', 'there is not enough memory to load the HTTP parser (WebAssembly)', {
      ...factsWithoutResponse(context),
      isPermanent: true,
      hint: 'raise the limit on virtual memory: ulimit -v unlimited',
    });
  const service = serviceName(context.destination);
  const mayBeTls = !hasStatus && phase !== 'nothing' && isClosedUnheard(error);
  const reason = exchangeErrorReason(error) + (mayBeTls ? tlsSuggestion(context.destination) : '');
  const facts: FailureFacts = {
    ...factsWithoutResponse(context),
    // The same error later in the exchange, such as a TLS alert, does not say that the next connection fails.
    isPermanent: phase === 'nothing' && isPermanentError(error),
    isTimedOut: isTotalTimeLimit(error),
  };
  if (phase === 'all') {
    const missing = isInvalidResponseError(error) ? 'no valid response' : 'no response';
    const message = `the request was sent to ${service}${mayBeApplied(context)}, but ${missing} came: ${reason}`;
    return new Failure('unknown', message, { ...facts, summary: `${missing} came from ${service} (${reason})` });
  }
  const isConnected = phase === 'part';
  const what = isConnected
    ? `could not send the whole request to ${service} (${sentBytes} bytes sent)`
    : `could not connect to ${service}`;
  const message = `${what}: ${reason}`;
  const summary = isConnected ? message : `${what} (${reason})`;
  return new Failure('unreachable', message, { ...facts, summary, reason, hint: connectionHint(error, context) });
}

// WebAssembly reserves gigabytes of address space, which a limit may not allow.
function isMemoryFailure(error: unknown): boolean {
  return error instanceof Error && /WebAssembly/.test(rootCause(error).message);
}

/** The facts about a request without a response. */
export function factsWithoutResponse(context: RequestContext): FailureFacts {
  const isSent = context.progress.phase === 'all';
  return {
    ...progressFacts(context),
    applied: isSent ? 'unknown' : 'no',
    ids: isSent ? context.ids : {},
    hint: isSent ? retryAdvice(context) : undefined,
  };
}

/** Creates the failure of a response that may be for another request; the function holds no body. */
export function createDoubt(context: RequestContext): () => Failure {
  const { destination, ids, progress } = context;
  const { attempts } = progress;
  const [service, url] = [serviceName(destination), destination.url.href];
  const suffix = mayBeApplied(context).replace(' and', '; the request');
  const hint = retryAdvice(context);
  const message = `${service} sent a response that no request asked for on the same connection, so this response may be for another request${suffix}`;
  const summary = 'the response may be for another request';
  return () => new Failure('unknown', message, { summary, url, applied: 'unknown', attempts, ids, hint });
}

/** For the message of an unknown outcome; empty for a request that changes nothing. */
export function mayBeApplied({ effect, operation }: Pick<RequestContext, 'effect' | 'operation'>): string {
  if (effect === 'read') return '';
  return ` and may have been applied${operation.replaces ? ', or only have deleted the old record' : ''}`;
}

/** The cause of an exchange that ended without its response, in words. */
export function exchangeErrorReason(error: unknown): string {
  if (!(error instanceof TimeLimitError)) return describeNetworkError(error);
  const seconds = `${error.limitMs / 1000} s`;
  if (error.limit === 'connect') return `no connection within ${seconds}`;
  return error.limit === 'total' ? `the time limit of ${seconds} was reached` : `no data for ${seconds}`;
}

/** The end of a message about plain http that a server rejects; empty for https. */
function tlsSuggestion({ url, isLocal }: RequestContext['destination']): string {
  return url.protocol !== 'http:' || isLocal ? '' : `; the port may speak TLS, so try https://${url.host}`;
}

function isTotalTimeLimit(error: unknown): boolean {
  return error instanceof TimeLimitError && error.limit === 'total';
}

function connectionHint(error: unknown, { destination }: RequestContext): string | undefined {
  if (destination.isLocal) return undefined;
  if (isTotalTimeLimit(error)) return 'to wait longer, raise --timeout';
  const selection = destination.isInProfile
    ? `--profile ${destination.profile}`
    : `--base-url ${destination.url.origin}`;
  return networkErrorHint(error) ?? `check --base-url, or run: svc doctor ${selection}`;
}

/**
 * Classifies a status: its failure code (none for 2xx), and whether the request was applied (docs/contract.md, section 6).
 * `mayDeleteFirst`: the service may have deleted a record before it refused the request.
 */
export function classifyStatus(
  status: number,
  hasRetryAfter: boolean,
  mayDeleteFirst = false,
): { readonly code: FailureCode | undefined; readonly applied: AppliedState } {
  if (status >= 200 && status < 300) return { code: undefined, applied: 'yes' };
  if (status === 401 || status === 403) return { code: 'credentials', applied: 'no' };
  if (status === 408 || status === 421 || status === 425 || status === 429)
    return { code: 'rate_limited', applied: 'no' };
  if (status === 400 && mayDeleteFirst) return { code: 'refused', applied: 'unknown' };
  if (status === 503 && hasRetryAfter && !mayDeleteFirst) return { code: 'rate_limited', applied: 'no' };
  if (status === 502 || status === 504 || (status >= 520 && status < 530))
    return { code: 'unknown', applied: 'unknown' };
  if (status >= 500) return { code: 'failed', applied: 'unknown' };
  return { code: 'refused', applied: 'no' };
}
