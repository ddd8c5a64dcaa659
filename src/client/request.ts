import { isGeneratedValue } from '../body/autofill.ts';
import type { Draft } from '../body/draft.ts';
import { Failure, type FailureFacts } from '../errors.ts';
import { type ExchangeSignal, getHeader, type HttpHeaders, type RequestBody } from '../http/message.ts';
import { createRequestProgress, type RequestProgress } from '../http/request-progress.ts';
import type { Deadline } from '../http/time-limits.ts';
import { isSecretHeader } from '../http/verbose-log.ts';
import { getMember, isTrue, type JsonNode, kindOf, nodeAtPath, rootOf, stringOf } from '../json/json-node.ts';
import type { Operation } from '../operations/operation.ts';
import { secretValues } from '../operations/secret-fields.ts';
import type { JobOutcome } from '../train/job-history.ts';
import { version } from '../version.ts';
import type { Authorization } from './authorization.ts';
import type { Destination, Settings } from './settings.ts';

/** A request without its credential, to be sent or printed. */
export interface PreparedRequest {
  readonly operation: Operation;
  readonly headers: HttpHeaders;
  readonly draft: Draft;
  /** The bytes of the draft, or a larger body of which the draft is a part. */
  readonly body: RequestBody;
  readonly ids: RecordIds;
  /** The effect of sending this body again. */
  readonly effect: Operation['effect'];
}

/** The only place that assembles a request: everything but the credential. `body` defaults to the bytes of the draft. */
export function prepareRequest(
  { operation, headers }: Pick<Settings, 'operation' | 'headers'>,
  draft: Draft,
  body: RequestBody = draft.doc.bytes,
): PreparedRequest {
  const ids = recordIds(operation, rootOf(draft.doc));
  const effect = requestEffect(operation, ids);
  return { operation, headers: requestHeaders(headers, isStreamRequested(draft)), draft, body, ids, effect };
}

// All but Authorization, with those of profile and flags.
function requestHeaders(customHeaders: HttpHeaders, isStreaming: boolean): HttpHeaders {
  const defaultHeaders: HttpHeaders = [
    ['Content-Type', 'application/json'],
    ['Accept', isStreaming ? 'text/event-stream' : 'application/json'],
    ['User-Agent', `svc/${version}`],
  ];
  return [...defaultHeaders.filter(([name]) => getHeader(customHeaders, name) === undefined), ...customHeaders];
}

export function isStreamRequested({ doc }: Draft): boolean {
  return isTrue(getMember(rootOf(doc), 'stream'));
}

/** The secrets in a request besides its credential: secret fields of the body, and headers that carry one. */
export function requestSecrets({ draft, operation, headers }: PreparedRequest): string[] {
  const headerValues = headers.flatMap(([name, value]) => (isSecretHeader(name) ? [value] : []));
  return [...secretValues(rootOf(draft.doc), operation), ...headerValues];
}

/** The facts about a request that messages and retries need. */
export interface RequestContext extends Pick<PreparedRequest, 'operation' | 'draft' | 'ids' | 'effect'> {
  readonly destination: Destination;
  readonly authorization: Authorization | undefined;
  readonly progress: RequestProgress;
}

/** The context of a request that is not sent yet. Written out, because a copy with more members is slow in a batch. */
export function createRequestContext(
  { operation, draft, ids, effect }: PreparedRequest,
  { destination, authorization }: Pick<RequestContext, 'destination' | 'authorization'>,
): RequestContext {
  return { operation, draft, ids, effect, destination, authorization, progress: createRequestProgress() };
}

/** Follows one request through its attempts. Sending prints nothing; its observer may. */
export interface RequestObserver {
  /** Called once, before the first byte is sent. An error that it throws keeps the request from being sent. */
  readonly onSend?: (() => Promise<void>) | undefined;
  /** Called when an attempt starts, with a function that describes its progress; the result is called when it ends. */
  readonly onAttempt?: ((describeProgress: () => string) => () => void) | undefined;
  /** Called before the wait for a retry; `retryNumber` counts from 1. */
  readonly onRetry?: ((failure: Failure, retryNumber: number, delayMs: number) => Promise<void>) | undefined;
  /** Waits until a response of more than 1 MiB may be held in memory; the result is called when it has been read. */
  readonly onLargeResponse?: (() => Promise<() => void>) | undefined;
  /** Takes each line of a verbose trace, as `curl -v` prints them; secret headers are redacted. */
  readonly onTrace?: ((line: string) => Promise<void>) | undefined;
  /** Called once when the outcome of all attempts is known; of a stream, when it begins. */
  readonly onOutcome?: ((outcome: JobOutcome) => Promise<void>) | undefined;
}

export interface AttemptTurn {
  /** Waits until an attempt may start. Throws the Failure of a request that is not to be sent. */
  readonly acquire: () => Promise<void>;
  readonly report: (failure: Failure | undefined) => void;
  /** False for a failure that is not worth a retry. */
  readonly canRetry: (failure: Failure) => boolean;
  /** True for a failure after which the request waits for a turn again, as if it had not been sent. */
  readonly canWait: (failure: Failure) => boolean;
}

/** What a caller of `send` takes part in. */
export interface SendHooks {
  /** Ends everything, with its reason as the error. */
  readonly signal: ExchangeSignal;
  /** Ends the wait for a retry, but no request in flight; default: `signal`. */
  readonly waitSignal?: ExchangeSignal | undefined;
  /** Called when the first attempt may start: the deadline over attempts, waits and response. */
  readonly startDeadline: () => Deadline;
  readonly observer: RequestObserver;
  readonly turn?: AttemptTurn | undefined;
  /** Called when a response of the exchange may be for another request; see Request. */
  readonly onStrayData?: (() => void) | undefined;
}

/** How far a request has come, for a failure. */
export function progressFacts(context: RequestContext): FailureFacts {
  const { phase, sentBytes: bytesSent, attempts } = context.progress;
  return { url: context.destination.url.href, phase, bytesSent, attempts, isRerunSafe: isRerunSafe(context) };
}

function isRerunSafe({ operation: { key = [], ids = {} }, draft, effect }: RequestContext): boolean {
  const hasGeneratedKey = key.some((what) => isGeneratedValue(draft, ids[what] ?? []));
  return isIdempotent(effect) && !hasGeneratedKey;
}

/** The service as messages name it: by its origin. */
export function serviceName({ url, isLocal }: Pick<Destination, 'url' | 'isLocal'>): string {
  return isLocal ? 'the local service' : url.origin;
}

/** Ids in a body, by what they identify. */
type RecordIds = { readonly [what: string]: string };

/** The ids in a body by which a user can find out later whether it was applied; an empty one identifies nothing. */
function recordIds({ ids: paths = {} }: Operation, body: JsonNode): RecordIds {
  const ids: { [what: string]: string } = {};
  for (const [what, path] of Object.entries(paths)) {
    const node = nodeAtPath(body, path);
    if (node && kindOf(node) === 'string' && stringOf(node) !== '') ids[what] = stringOf(node);
  }
  return ids;
}

// A keyed operation without its key makes a second record, and so may one with another key than that of the record it replaces.
function requestEffect({ effect, key = [], replaces }: Operation, ids: RecordIds): Operation['effect'] {
  const hasKey = key.every((what) => ids[what] !== undefined && ids[what] === ids[replaces ?? what]);
  return effect === 'keyed' && !hasKey ? 'once' : effect;
}

/** True if a request is safe to retry: sending it twice has the effect of sending it once. */
export function isIdempotent(effect: Operation['effect']): boolean {
  return effect === 'read' || effect === 'keyed';
}

/** The effect of running the same command again after an unknown outcome, for messages. */
export function retryAdvice({ operation, effect }: Pick<PreparedRequest, 'operation' | 'effect'>): string {
  return (operation.replaces ? 'the old record may be deleted; ' : '') + retryAdviceByEffect[effect];
}

const retryAdviceByEffect = {
  read: 'the request only reads data: run the command again',
  keyed: 'it is safe to run it again with the same ids; with other ids it may be applied twice',
  paid: 'if you run it again, you may be charged twice',
  once: 'if you run it again, it may be applied twice',
} as const satisfies Record<Operation['effect'], string>;

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

/** The part of a message about an unknown outcome; empty for a request that changes nothing. */
export function mayBeApplied({ effect, operation }: Pick<RequestContext, 'effect' | 'operation'>): string {
  if (effect === 'read') return '';
  return ` and may have been applied${operation.replaces ? ', or only have deleted the old record' : ''}`;
}
