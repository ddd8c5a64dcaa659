import { isGeneratedValue } from '../body/autofill.ts';
import type { Destination } from '../config/destination.ts';
import { type AppliedState, Failure, type FailureFacts, InterruptedError, rootCause } from '../errors.ts';
import { rateLimitHeaders, responseRequestId } from '../http/message.ts';
import {
  describeNetworkError,
  isClosedUnheard,
  isInvalidResponseError,
  isPermanentError,
  networkErrorHint,
} from '../http/network-errors.ts';
import { UnusableBodyError } from '../http/size-limits.ts';
import { TimeLimitError } from '../http/time-limits.ts';
import type { Operation } from '../operations/operation.ts';
import { isIdempotent, type PreparedRequest, type RequestContext } from './request.ts';

/** The failure of an exchange without a response: decided by how far the request came, never by the name of the error. */
export function failureFromError(error: unknown, context: RequestContext): Failure {
  if (error instanceof Failure) return error;
  const { phase, sentBytes } = context.progress;
  const facts = factsWithoutResponse(context);
  if (error instanceof InterruptedError) {
    const outcome = phase === 'all' ? `the request was sent${mayBeApplied(context)}` : 'nothing was applied';
    // A user who interrupts svc does not want a retry.
    return new Failure(error.code, `${error.message}; ${outcome}`, { ...facts, isPermanent: true });
  }
  // WebAssembly reserves gigabytes of address space, which a limit may not allow.
  if (error instanceof Error && /WebAssembly/.test(rootCause(error).message))
    return new Failure('local_file', 'there is not enough memory to load the HTTP parser (WebAssembly)', {
      ...facts,
      isPermanent: true,
      hint: 'raise the limit on virtual memory: ulimit -v unlimited',
    });
  const { url, isLocal } = context.destination;
  const service = serviceName(context.destination);
  const mayBeTls =
    !context.response && phase !== 'nothing' && url.protocol === 'http:' && !isLocal && isClosedUnheard(error);
  const reason = exchangeErrorReason(error) + (mayBeTls ? `; the port may speak TLS, so try https://${url.host}` : '');
  const isTimedOut = isTotalTimeLimit(error);
  // The same error later in the exchange, such as a TLS alert, does not say that the next connection fails.
  const isPermanent = phase === 'nothing' && isPermanentError(error);
  if (phase === 'all') {
    const missing = isInvalidResponseError(error) ? 'no valid response' : 'no response';
    const message = `the request was sent to ${service}${mayBeApplied(context)}, but ${missing} came: ${reason}`;
    const summary = `${missing} came from ${service} (${reason})`;
    return new Failure('unknown', message, { ...facts, isPermanent, isTimedOut, summary });
  }
  const isConnected = phase === 'part';
  const what = isConnected
    ? `could not send the whole request to ${service} (${sentBytes} bytes sent)`
    : `could not connect to ${service}`;
  const message = `${what}: ${reason}`;
  const summary = isConnected ? message : `${what} (${reason})`;
  const hint = connectionHint(error, context);
  return new Failure('unreachable', message, { ...facts, isPermanent, isTimedOut, summary, reason, hint });
}

/** The failure of a response whose body ends early. Without `cutMessage` the outcome is as unknown as without a status. */
export function failureFromBodyError(error: unknown, context: RequestContext, cutMessage?: string): Failure {
  if (error instanceof UnusableBodyError) {
    const message = `cannot read the response from ${serviceName(context.destination)}: ${error.message}`;
    return invalidResponseFailure(message, context);
  }
  if (error instanceof Failure) return error;
  if (cutMessage === undefined)
    return failureFromError(error, context).with({ requestId: responseRequestId(context.response?.headers ?? []) });
  if (error instanceof InterruptedError) {
    const facts = { ...responseFacts(context), hint: retryAdvice(context) };
    return new Failure(error.code, `${error.message}; the response had started`, facts);
  }
  return invalidResponseFailure(`${cutMessage}: ${exchangeErrorReason(error)}`, context, true);
}

/** The failure of a response that breaks the interface: the request was applied all the same. */
export function invalidResponseFailure(message: string, context: RequestContext, isTruncated = false): Failure {
  const hint = isTruncated
    ? retryAdvice(context)
    : `check that ${context.destination.url.href} is the service; -v shows the exchange`;
  return new Failure('invalid_response', message, { ...responseFacts(context), isTruncated, hint });
}

/** Creates the failure of a response that may be for another request; the function holds no body. */
export function createDoubt(context: RequestContext): () => Failure {
  const { destination, ids, progress } = context;
  const { attempts } = progress;
  const [service, url] = [serviceName(destination), destination.url.href];
  const suffix = mayBeApplied(context).replace(' and', '; the request');
  const message = `${service} sent a response that no request asked for on the same connection, so this response may be for another request${suffix}`;
  const summary = 'the response may be for another request';
  const hint = retryAdvice(context);
  return () => new Failure('unknown', message, { summary, url, applied: 'unknown', attempts, ids, hint });
}

/** The facts about a request with a response; by default those of a 2xx status: it was applied. */
export function responseFacts(context: RequestContext, applied: AppliedState = 'yes'): FailureFacts {
  const { status, headers = [] } = context.response ?? {};
  return {
    ...progressFacts(context),
    status,
    requestId: responseRequestId(headers),
    rateLimit: rateLimitHeaders(headers),
    isRead: context.effect === 'read',
    applied,
    ids: applied === 'no' ? {} : context.ids,
  };
}

export function factsWithoutResponse(context: RequestContext): FailureFacts {
  const facts = progressFacts(context);
  return context.progress.phase === 'all'
    ? { ...facts, applied: 'unknown', ids: context.ids, hint: retryAdvice(context) }
    : { ...facts, applied: 'no', ids: {} };
}

function progressFacts({ destination, effect, draft, progress, operation }: RequestContext): FailureFacts {
  const { phase, sentBytes: bytesSent, attempts } = progress;
  const { key = [], ids = {} } = operation;
  const isRerunSafe = isIdempotent(effect) && !key.some((what) => isGeneratedValue(draft, ids[what] ?? []));
  return { url: destination.url.href, phase, bytesSent, attempts, isRerunSafe };
}

export function exchangeErrorReason(error: unknown): string {
  if (!(error instanceof TimeLimitError)) return describeNetworkError(error);
  const seconds = `${error.limitMs / 1000} s`;
  if (error.limit === 'connect') return `no connection within ${seconds}`;
  return error.limit === 'total' ? `the time limit of ${seconds} was reached` : `no data for ${seconds}`;
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

export function serviceName({ url, isLocal }: Pick<Destination, 'url' | 'isLocal'>): string {
  return isLocal ? 'the local service' : url.origin;
}

export function retryAdvice({ operation, effect }: Pick<PreparedRequest, 'operation' | 'effect'>): string {
  return (operation.replaces ? 'the old record may be deleted; ' : '') + retryAdviceByEffect[effect];
}

const retryAdviceByEffect = {
  read: 'the request only reads data: run the command again',
  keyed: 'it is safe to run it again with the same ids; with other ids it may be applied twice',
  paid: 'if you run it again, you may be charged twice',
  once: 'if you run it again, it may be applied twice',
} as const satisfies Record<Operation['effect'], string>;

/** The part of a message about an unknown outcome; empty for a request that changes nothing. */
export function mayBeApplied({ effect, operation }: Pick<RequestContext, 'effect' | 'operation'>): string {
  if (effect === 'read') return '';
  return ` and may have been applied${operation.replaces ? ', or only have deleted the old record' : ''}`;
}
