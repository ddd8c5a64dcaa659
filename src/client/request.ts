import type { Draft } from '../body/draft.ts';
import type { Failure, RequestOutcome } from '../errors.ts';
import type { ExchangeSignal, HttpHeaders, HttpResponse, RequestBody } from '../http/message.ts';
import { mergeHeaders } from '../http/message.ts';
import type { Deadline, RequestProgress } from '../http/time-limits.ts';
import { getMember, isTrue, type JsonNode, kindOf, nodeAtPath, rootOf, stringOf } from '../json/json-node.ts';
import type { Operation } from '../operations/operation.ts';
import { headerSecrets, secretValues } from '../output/redaction.ts';
import { version } from '../version.ts';
import type { Connection } from './connection.ts';
import type { Settings } from './resolve-settings.ts';
import type { ResponseMemory } from './response-memory.ts';

export interface PreparedRequest {
  readonly operation: Operation;
  readonly headers: HttpHeaders;
  readonly draft: Draft;
  /** The bytes of the draft, or a larger body of which the draft is a part. */
  readonly body: RequestBody;
  readonly ids: { readonly [what: string]: string };
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
  const defaultHeaders = [
    ['Content-Type', 'application/json'],
    ['Accept', isStreamRequested(draft) ? 'text/event-stream' : 'application/json'],
    ['User-Agent', `svc/${version}`],
  ] as const;
  return { operation, headers: mergeHeaders(defaultHeaders, headers), draft, body, ids, effect };
}

export function isStreamRequested({ doc }: Draft): boolean {
  return isTrue(getMember(rootOf(doc), 'stream'));
}

// An empty id identifies nothing.
function recordIds({ ids: paths = {} }: Operation, body: JsonNode): PreparedRequest['ids'] {
  const found = Object.entries(paths).map(([what, path]) => [what, nodeAtPath(body, path)] as const);
  const texts = found.map(([what, node]) => [what, node && kindOf(node) === 'string' ? stringOf(node) : ''] as const);
  return Object.fromEntries(texts.filter(([, text]) => text !== ''));
}

// A keyed operation without its key makes a second record, and so may one with another key than that of the record it replaces.
function requestEffect({ effect, key = [], replaces }: Operation, ids: PreparedRequest['ids']): Operation['effect'] {
  const hasKey = key.every((what) => ids[what] !== undefined && ids[what] === ids[replaces ?? what]);
  return effect === 'keyed' && !hasKey ? 'once' : effect;
}

export function isIdempotent(effect: Operation['effect']): boolean {
  return effect === 'read' || effect === 'keyed';
}

/** The secrets in a request besides its credential: secret fields of the body, and headers that carry one. */
export function requestSecrets({ draft, operation, headers }: PreparedRequest): string[] {
  return [...secretValues(rootOf(draft.doc), operation), ...headerSecrets(headers)];
}

export interface RequestContext extends PreparedRequest, Pick<Connection, 'destination' | 'authorization'> {
  readonly connection: Connection;
  readonly progress: RequestProgress;
  response: HttpResponse | undefined;
}

/** The context of a request that is not sent yet. Written out, because a copy with more members is slow in a batch. */
export function createRequestContext(request: PreparedRequest, connection: Connection): RequestContext {
  const { operation, headers, draft, body, ids, effect } = request;
  const { destination, authorization } = connection;
  return {
    connection,
    operation,
    headers,
    draft,
    body,
    ids,
    effect,
    destination,
    authorization,
    progress: { phase: 'nothing', sentBytes: 0, attempts: 0 },
    response: undefined,
  };
}

export interface SendHooks {
  /** Ends everything, with its reason as the error. */
  readonly signal: ExchangeSignal;
  /** Ends the wait for a retry, but no request in flight; default: `signal`. */
  readonly waitSignal?: ExchangeSignal | undefined;
  /** Over attempts, waits and response; default: the time limit of the connection, from when the first attempt may start. */
  readonly deadline?: Deadline | undefined;
  readonly turn?: AttemptTurn | undefined;
  /** Called before the first byte is sent, and again after a turn waited. An error that it throws keeps the request from being sent. */
  readonly onSend?: (() => Promise<void>) | undefined;
  /** Called with what is known about the request after the last attempt; of a stream, when it begins. */
  readonly onOutcome?: ((outcome: RequestOutcome) => Promise<void>) | undefined;
  /** Called after an attempt that was not applied, when the request waits for a turn again. */
  readonly onWait?: (() => Promise<void>) | undefined;
  /** Called when an attempt starts, with a function that describes its progress; the result is called when it ends. */
  readonly onAttempt?: ((describeProgress: () => string) => (() => void) | undefined) | undefined;
  /** Called before the wait for a retry, with the line that announces it. */
  readonly onRetry?: ((message: string) => Promise<void>) | undefined;
  /** Limits what the response holds; the caller releases it when it no longer refers to the response. */
  readonly memory?: ResponseMemory | undefined;
}

export interface AttemptTurn {
  /** Waits until an attempt may start. Throws the Failure of a request that is not to be sent. */
  readonly acquire: () => Promise<void>;
  readonly report: (failure: Failure | undefined) => void;
  /** False for a failure that is not worth a retry. */
  readonly canRetry: (failure: Failure) => boolean;
  /** True for a failure after which the request waits for a turn again, as if it had not been sent. */
  readonly canWait: (failure: Failure) => boolean;
  /** The failure of the request: one that waited in vain was not sent. */
  readonly toOutcome: (failure: Failure) => Failure;
}
