import { isGeneratedValue } from '../body/autofill.ts';
import type { Destination } from '../config/destination.ts';
import type { AppliedState, FailureCode, FailureFacts } from '../errors.ts';
import { Failure, InterruptedError, webAssemblyFailure } from '../errors.ts';
import { UnusableBodyError } from '../http/body-chunks.ts';
import {
  describeNetworkError,
  isClosedUnheard,
  isInvalidResponseError,
  isPermanentError,
  networkErrorHint,
  proxyErrorOf,
} from '../http/network-errors.ts';
import { proxyHint } from '../http/proxy.ts';
import { TimeLimitError } from '../http/time-limits.ts';
import { type FactSource, readFacts } from '../operations/received-facts.ts';
import { mapTexts } from '../output/failure-text.ts';
import { createRedactor, splitSecrets } from '../output/redaction.ts';
import { isStreamRequested, type PreparedRequest, type RequestContext, requestSecrets } from './request.ts';

/** The failure of a request, without its secrets, so that no writer can forget that, and with the advice on sending it again. */
export function requestFailure(code: FailureCode, message: string, given: FailureFacts, request: FailedRequest) {
  return createFailures(request)(code, message, given);
}

// Creates failures of a request, also later: it holds no body, because no function in its scope reads the draft.
function createFailures(request: FailedRequest) {
  const { effect } = request;
  const { replaces } = request.operation;
  const { hasGeneratedKey, isNew } = generatedIds(request);
  const secrets = secretsOf(request);
  return (code: FailureCode, message: string, given: FailureFacts): Failure => {
    const failure = new Failure(code, message, { ...given, effect, hasGeneratedKey });
    const { advice } = failure.resend;
    const isDeletion = advice !== undefined && replaces !== undefined && !isNew;
    const hints = [given.hint ?? [], isDeletion ? 'the old record may be deleted' : [], advice ?? []].flat();
    const { body } = given.received ?? {};
    // The messages of an error are texts of their own, and only the body shows that they hold one secret.
    const pieces = typeof body === 'string' ? splitSecrets(body, secrets) : [];
    const { redact } = createRedactor([...secrets, ...pieces]);
    const { url, received, summary, reason, ids, issues } = given;
    const texts = { url, received, summary, reason, ids, issues };
    const hint = hints.length > 0 ? hints.join('; ') : undefined;
    return failure.with(mapTexts({ ...texts, hint }, redact), redact(message));
  };
}

function generatedIds({ operation: { key = [], ids: paths = {}, replaces }, draft }: FailedRequest) {
  const isGenerated = (what: string): boolean => isGeneratedValue(draft, paths[what] ?? []);
  // A new record replaces none.
  return { hasGeneratedKey: key.some(isGenerated), isNew: replaces !== undefined && isGenerated(replaces) };
}

/** Redacts the secrets of a request, its credential included. */
export function createRequestRedactor(request: FailedRequest): (text: string) => string {
  return createRedactor(secretsOf(request)).redact;
}

function secretsOf(request: FailedRequest): string[] {
  return [...requestSecrets(request), ...(request.authorization?.secrets ?? [])];
}

type FailedRequest = PreparedRequest & Partial<Pick<RequestContext, 'authorization'>>;

/** The failure of an exchange without a response: decided by how far the request came, never by the name of the error. */
export function failureFromError(error: unknown, context: RequestContext): Failure {
  if (error instanceof Failure) return error;
  const { phase, sentBytes } = context.progress;
  const facts = factsWithoutResponse(context);
  if (error instanceof InterruptedError) {
    const outcome = phase === 'all' ? `the request was sent${mayBeApplied(' and', context)}` : 'nothing was applied';
    // A user who interrupts svc does not want a retry.
    return requestFailure(error.code, `${error.message}; ${outcome}`, { ...facts, isPermanent: true }, context);
  }
  const notLoaded = webAssemblyFailure('the HTTP parser', error);
  if (notLoaded) {
    const { message, hint } = notLoaded;
    return requestFailure('local_file', message, { ...facts, isPermanent: true, hint }, context);
  }
  const { url, isLocal } = context.destination;
  const service = serviceName(context.destination);
  const mayBeTls =
    !context.response && phase !== 'nothing' && url.protocol === 'http:' && !isLocal && isClosedUnheard(error);
  const proxy = phase === 'nothing' ? context.destination.proxy : undefined;
  const reason =
    exchangeErrorReason(error, proxy) + (mayBeTls ? `; the port may speak TLS, so try https://${url.host}` : '');
  const isTimedOut = error instanceof TimeLimitError && error.limit === 'total';
  // The same error later in the exchange, such as a TLS alert, does not say that the next connection fails.
  const isPermanent = phase === 'nothing' && isPermanentError(error);
  if (phase === 'all') {
    const missing = isInvalidResponseError(error) ? 'no valid response' : 'no response';
    const message = `the request was sent to ${service}${mayBeApplied(' and', context)}, but ${missing} came: ${reason}`;
    const summary = `${missing} came from ${service} (${reason})`;
    const hint = isInvalidResponseError(error)
      ? `check ${baseUrlName(context.destination)}: another program may listen there`
      : timeLimitHint(error, context);
    return requestFailure('unknown', message, { ...facts, isPermanent, isTimedOut, summary, hint }, context);
  }
  const isConnected = phase === 'part';
  const what = isConnected
    ? `could not send the whole request to ${service} (${sentBytes} bytes sent)`
    : `could not connect to ${service}`;
  const message = `${what}: ${reason}`;
  const summary = isConnected ? message : `${what} (${reason})`;
  const hint = connectionHint(error, context);
  const more = { isPermanent, isTimedOut, summary, reason, hint, status: proxyErrorOf(error)?.status };
  return requestFailure('unreachable', message, { ...facts, ...more }, context);
}

/** The failure of a response whose body ends early. Without `cutMessage` the outcome is as unknown as without a status. */
export function failureFromBodyError(error: unknown, context: RequestContext, cutMessage?: string): Failure {
  if (error instanceof UnusableBodyError) {
    const message = `cannot read the response from ${serviceName(context.destination)}: ${error.message}`;
    return invalidResponseFailure(message, context);
  }
  if (error instanceof Failure) return error;
  if (cutMessage === undefined)
    return failureFromError(error, context).with({ received: readFacts({ headers: context.response?.headers ?? [] }) });
  if (error instanceof InterruptedError) {
    return requestFailure(error.code, `${error.message}; the response had started`, responseFacts(context), context);
  }
  const facts = { ...responseFacts(context), isTruncated: true, hint: timeLimitHint(error, context) };
  return requestFailure('invalid_response', `${cutMessage}: ${exchangeErrorReason(error)}`, facts, context);
}

/** The failure of a response that breaks the interface: the request was applied all the same. */
export function invalidResponseFailure(message: string, context: RequestContext, isTruncated = false): Failure {
  const hint = isTruncated
    ? undefined
    : `check that ${context.destination.url.href} is the service; -v shows the exchange`;
  return requestFailure('invalid_response', message, { ...responseFacts(context), isTruncated, hint }, context);
}

/** Creates the failure of a response that may be for another request. Most lines need none, and the function holds no body. */
export function createDoubt(context: RequestContext): () => Failure {
  const { destination, ids, progress } = context;
  const { attempts } = progress;
  const suffix = mayBeApplied('; the request', context);
  const createFailure = createFailures(context);
  return () => {
    const message = `${serviceName(destination)} sent a response that no request asked for on the same connection, so this response may be for another request${suffix}`;
    const summary = 'the response may be for another request';
    const url = destination.url.href;
    return createFailure('unknown', message, { summary, url, applied: 'unknown', attempts, ids });
  };
}

/** The facts about a request with a response; by default those of a 2xx status: it was applied. */
export function responseFacts(
  context: RequestContext,
  applied: AppliedState = 'yes',
  error: Pick<FactSource, 'serviceCode' | 'errorBody'> = {},
): FailureFacts {
  const { status, headers = [] } = context.response ?? {};
  return {
    ...progressFacts(context),
    status,
    received: readFacts({ headers, ...error }),
    effect: context.effect,
    applied,
    ids: applied === 'no' ? {} : context.ids,
  };
}

export function factsWithoutResponse(context: RequestContext): FailureFacts {
  const facts = progressFacts(context);
  return context.progress.phase === 'all'
    ? { ...facts, applied: 'unknown', ids: context.ids }
    : { ...facts, applied: 'no', ids: {} };
}

function progressFacts({ destination, progress }: RequestContext): FailureFacts {
  const { phase, sentBytes: bytesSent, attempts } = progress;
  return { url: destination.url.href, phase, bytesSent, attempts };
}

/** Why an exchange failed; `proxy` is the one that svc was connecting through, which may be silent itself. */
export function exchangeErrorReason(error: unknown, proxy?: URL): string {
  if (!(error instanceof TimeLimitError)) return describeNetworkError(error);
  const via = proxy ? ` through the proxy ${proxy.host}` : '';
  const seconds = `${error.limitMs / 1000} s`;
  if (error.limit === 'connect') return `no connection${via} within ${seconds}`;
  if (error.limit === 'total')
    return `the time limit of ${seconds} was reached${via && `, without a connection${via}`}`;
  return `no data for ${seconds}`;
}

function connectionHint(error: unknown, context: RequestContext): string | undefined {
  const { isLocal, isInProfile, profile, url, tls, source, proxySource } = context.destination;
  if (isLocal) return undefined;
  const proxyError = proxyErrorOf(error);
  if (proxySource && (proxyError || error instanceof TimeLimitError)) return proxyHint(proxySource, proxyError?.status);
  return (
    timeLimitHint(error, context) ??
    networkErrorHint(error, tls?.caCertificates !== undefined) ??
    `check ${source}, or run: svc doctor ${isInProfile ? `--profile ${profile}` : `--base-url ${url.origin}`}`
  );
}

/** The base URL in advice to check it, with what sets it unless the command line does. */
export function baseUrlName({ source }: Pick<Destination, 'source'>): string {
  return source.startsWith('--') || source === '' ? 'the base URL' : `the base URL (${source})`;
}

// No flag raises the other limits: the service was silent for minutes.
function timeLimitHint(error: unknown, { operation, draft }: RequestContext): string | undefined {
  if (!(error instanceof TimeLimitError) || error.limit === 'connect') return undefined;
  const { limit, limitMs } = error;
  const longer = limitMs % 500 === 0 ? `${limitMs / 500}s` : `${limitMs * 2}ms`;
  if (limit === 'total') return `to wait longer, write --timeout ${longer}, or --timeout 0 for no limit`;
  const canStream = operation.result.as === 'chat' && !isStreamRequested(draft);
  return canStream ? 'add --stream, with which data comes before the response is complete' : undefined;
}

export function serviceName({ url, isLocal }: Pick<Destination, 'url' | 'isLocal'>): string {
  return isLocal ? 'the local service' : url.origin;
}

/** The part of a message about an unknown outcome, after `lead`; empty for a request that changes nothing. */
export function mayBeApplied(
  lead: string,
  { effect, operation }: Pick<RequestContext, 'effect' | 'operation'>,
): string {
  if (effect === 'read') return '';
  return `${lead} may have been applied${operation.replaces ? ', or only have deleted the old record' : ''}`;
}
