import type { Buffer } from 'node:buffer';
import { createDraft } from '../body/draft.ts';
import type { Context } from '../context.ts';
import { Failure, InterruptedError, type RequestOutcome, signalOfFailure, toFailure } from '../errors.ts';
import { observeChunks } from '../http/body-chunks.ts';
import { decompressResponse } from '../http/decompress-response.ts';
import { getHeader, type HttpRequest, type HttpResponse, type Send } from '../http/message.ts';
import { collectBody, MAX_RESPONSE_BYTES, peekBody } from '../http/size-limits.ts';
import { abortableDelay, createDeadline, type Deadline, watchExchange } from '../http/time-limits.ts';
import { COLON, OPEN_OBJECT } from '../json/json-bytes.ts';
import { JsonError } from '../json/json-error.ts';
import {
  firstStringMember,
  getMember,
  itemsOf,
  type JsonDocument,
  type JsonNode,
  kindOf,
  rootOf,
} from '../json/json-node.ts';
import { parseJson } from '../json/parse-json.ts';
import type { Operation } from '../operations/operation.ts';
import { formatSeconds, formatTransfer } from '../output/transfer-text.ts';
import type { ParsedResponse } from '../results/show-response.ts';
import type { Runtime } from '../runtime.ts';
import { type Authorization, type Connection, connect } from './connection.ts';
import {
  factsWithoutResponse,
  failureFromBodyError,
  failureFromError,
  invalidResponseFailure,
  serviceName,
} from './exchange-failure.ts';
import {
  createRequestContext,
  isIdempotent,
  type PreparedRequest,
  prepareRequest,
  type RequestContext,
  type SendHooks,
} from './request.ts';
import type { Settings } from './resolve-settings.ts';

/** The one way to send: a request with retries (docs/contract.md, section 7). Throws the Failure of the attempt that was most likely applied. */
export async function send(context: RequestContext, hooks: SendHooks, runtime: Runtime): Promise<Outcome> {
  const { destination, authorization, headers, body, progress } = context;
  const { transport, timeoutMs } = context.connection;
  const { signal, onStrayData, turn } = hooks;
  const request: HttpRequest = {
    method: 'POST',
    url: destination.url.href,
    headers: authorization ? [...headers, ['Authorization', authorization.value.reveal()]] : headers,
    body,
    // Set for each attempt: V8 replaces a property of a copy 20 times as fast as it adds one.
    onBodySent: undefined,
    onInterimResponse: undefined,
    signal,
    onStrayData,
  };
  let deadline: Deadline | undefined;
  const attempt = async (): Promise<Outcome> => {
    await turn?.acquire();
    let failure: Failure | undefined;
    try {
      if (!deadline) {
        await hooks.onSend?.();
        deadline = hooks.deadline ?? createDeadline(timeoutMs, runtime);
      }
      const watchedSend = watchExchange(deadline, progress, runtime.after)(transport.send);
      return await sendOnce(watchedSend, request, context, hooks, runtime);
    } catch (error) {
      if (error instanceof Failure) failure = error;
      throw error;
    } finally {
      turn?.report(failure);
      // The time of the request starts when it may be sent, not while it waits for the service.
      if (failure && turn?.canWait(failure)) deadline = undefined;
    }
  };
  const remainingMs = (): number => deadline?.remainingMs() ?? Number.POSITIVE_INFINITY;
  const attempts = withRetries(attempt, context, remainingMs, hooks, runtime);
  const outcome = await attempts.catch(async (error: unknown) => {
    await hooks.onOutcome?.(outcomeOfFailure(error, context));
    throw error;
  });
  await hooks.onOutcome?.(outcomeOfResponse(outcome, context));
  return outcome;
}

// It was applied, even if the response breaks the interface, unless an HTML page took its place.
function outcomeOfResponse({ parsedResponse }: Outcome, { operation }: RequestContext): RequestOutcome {
  const id = parsedResponse?.doc && firstStringMember(rootOf(parsedResponse.doc), operation.result.member);
  const { exitCode = 0, facts } = parsedResponse?.failure ?? {};
  return { applied: facts?.applied ?? 'yes', exitCode, id };
}

// If the failure does not say, its phase decides.
function outcomeOfFailure(error: unknown, sent: RequestContext): RequestOutcome {
  const { exitCode, facts } = toFailure(error);
  return { applied: facts.applied ?? factsWithoutResponse(sent).applied ?? 'unknown', exitCode, id: undefined };
}

/**
 * Makes attempts until one succeeds, none is left, the time is up, or a retry is not safe. Throws the Failure of the
 * attempt that was most likely applied, with what the last one adds: no later refusal takes back that an earlier one may
 * have been applied. For a request that only reads, it throws the last Failure.
 */
export async function withRetries<T>(
  attempt: () => Promise<T>,
  { effect, connection: { maxRetries } }: RetriedRequest,
  remainingMs: () => number,
  { signal, waitSignal = signal, turn, onRetry }: Pick<SendHooks, 'signal' | 'waitSignal' | 'turn' | 'onRetry'>,
  { after, randomBytes }: Pick<Runtime, 'after' | 'randomBytes'>,
): Promise<T> {
  let worst: Failure | undefined;
  let failedAttempts = 0;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      if (turn?.canWait(error)) continue;
      failedAttempts += 1;
      worst = moreLikelyApplied(worst, error);
      const isLast = failedAttempts > maxRetries || !isRetryable(effect, error) || turn?.canRetry(error) === false;
      const delayMs = isLast ? 0 : retryDelayMs(failedAttempts, error, (randomBytes(1)[0] ?? 0) / 255);
      if (isLast || delayMs >= remainingMs()) throw combineFailures(worst, error, effect);
      const { message, facts } = error;
      const wait = delayMs < 100 ? '' : ` in ${(delayMs / 1000).toFixed(1)} s`;
      await onRetry?.(`${facts.summary ?? message}; retrying${wait} (${failedAttempts} of ${maxRetries})`);
      try {
        await abortableDelay(delayMs, after, waitSignal);
      } catch (reason) {
        if (!(reason instanceof InterruptedError)) throw reason;
        // A batch that stops sends no signal to the process: the failure of the attempts is the outcome.
        const isOutcome = !signal.aborted && effect !== 'read' && appliedRankOf(worst) > 0;
        throw combineFailures(worst, isOutcome ? error : interruptionFailure(reason, failedAttempts), effect);
      }
    }
  }
}

interface RetriedRequest extends Pick<Operation, 'effect'> {
  readonly connection: Pick<Connection, 'maxRetries'>;
}

const appliedRank = { no: 0, unknown: 1, yes: 2 } as const;

function appliedRankOf({ facts: { applied = 'no' } }: Failure): number {
  return appliedRank[applied];
}

// The last of equals.
function moreLikelyApplied(worst: Failure | undefined, last: Failure): Failure {
  return worst && appliedRankOf(worst) > appliedRankOf(last) ? worst : last;
}

function combineFailures(worst: Failure, last: Failure, effect: Operation['effect']): Failure {
  if (effect === 'read' || moreLikelyApplied(worst, last) === last) return last;
  const { attempts, issues, hint, retryAfterMs } = last.facts;
  // A request to end the process is reported first.
  if (signalOfFailure(last.code))
    return new Failure(last.code, `${last.code}; before that: ${worst.message}`, { ...worst.facts, attempts });
  const hints = [worst.facts.hint, hint].filter((text) => text !== undefined);
  const facts = { attempts, issues, retryAfterMs, hint: hints.length > 0 ? hints.join('; ') : undefined };
  return worst.with(facts, `${worst.message}; the last attempt: ${last.message}`);
}

function interruptionFailure({ code, message }: InterruptedError, attempts: number): Failure {
  return new Failure(code, `${message}; nothing was applied`, { applied: 'no', attempts });
}

// A longer wait is not a transient shortage (docs/servers.md): svc reports when to retry instead.
const MAX_RETRY_AFTER_MS = 60_000;

const INITIAL_BACKOFF_MS = 250;
const MAX_BACKOFF_MS = 20_000;

// Decided by the effect of the operation (that of a chat is `paid`) and by what is known about the attempt, never by the name
// of an error (docs/contract.md, section 7). classifyStatus says which statuses are `rate_limited`.
function isRetryable(effect: Operation['effect'], { code, facts }: Failure): boolean {
  const { status, phase, isPermanent, isTruncated, retryAfterMs = 0 } = facts;
  if (isPermanent || retryAfterMs > MAX_RETRY_AFTER_MS) return false;
  const isSafe = isIdempotent(effect);
  if (status === undefined) return phase === 'nothing' || (isSafe && phase !== undefined);
  if (effect === 'once') return status === 429;
  return code === 'rate_limited' || (isSafe && (isTruncated === true || (status >= 500 && status !== 501)));
}

/** The wait for a retry: never less than the service asked for, and up to a bound that doubles from 250 ms to 20 s. */
export function retryDelayMs(retryNumber: number, { facts: { retryAfterMs = 0 } }: Failure, random: number): number {
  const boundMs = Math.min(MAX_BACKOFF_MS, INITIAL_BACKOFF_MS * 2 ** (retryNumber - 1));
  return retryAfterMs + Math.round(random * boundMs);
}

/** Sends one request over a connection of its own; that of a stream is closed by the end of the process. */
export async function sendAlone(
  request: PreparedRequest,
  settings: Settings,
  context: Context,
  { authorization, ...hooks }: Partial<SendHooks> & { readonly authorization?: Authorization | undefined } = {},
): Promise<Outcome> {
  const { runtime, signal } = context;
  const deadline = createDeadline(settings.timeoutMs, runtime);
  const connection = await connect(settings, context, authorization);
  let isStream = false;
  try {
    const outcome = await send(createRequestContext(request, connection), { signal, deadline, ...hooks }, runtime);
    isStream = outcome.chunks !== undefined;
    return outcome;
  } finally {
    if (!isStream) await connection.transport.close();
  }
}

/** As sendAlone, for a JSON body that svc made itself. Returns the warnings, and throws also the Failure of an invalid response. */
export async function sendJson(body: string, settings: Settings, context: Context, authorization?: Authorization) {
  const request = prepareRequest(settings, createDraft(body));
  const outcome = await sendAlone(request, settings, context, { authorization });
  if (outcome.parsedResponse?.failure) throw outcome.parsedResponse.failure;
  return outcome;
}

/** A successful exchange: a complete response, or the chunks of a stream, of which the first has arrived. */
export type Outcome = {
  readonly response: HttpResponse;
  /** Signs that the response is for another request, or for a part of this one. */
  readonly warnings: readonly string[];
} & (
  | { readonly parsedResponse: ParsedResponse; readonly chunks: undefined }
  | { readonly parsedResponse: undefined; readonly chunks: AsyncIterable<JsonNode> }
);

/** Sends a request once. Throws the Failure of the attempt; a response that breaks the interface is an outcome with a failure in it. */
export async function sendOnce(
  send: Send,
  request: HttpRequest,
  context: RequestContext,
  { onAttempt, onLargeResponse }: Pick<SendHooks, 'onAttempt' | 'onLargeResponse'>,
  runtime: Pick<Runtime, 'now' | 'elapsed' | 'after'>,
): Promise<Outcome> {
  context.response = undefined;
  const onEnd = onAttempt?.(progressDescriber(request, context, runtime.elapsed));
  try {
    const received = await send(request)
      .then(decompressResponse)
      .catch((error: unknown) => {
        throw failureFromError(error, context);
      });
    context.response = received;
    if (received.status < 200 || received.status > 299) {
      const { failureFromStatus } = await import('./status-failure.ts');
      const failure = await failureFromStatus(received, context, runtime.now());
      // The status is known, even if an interruption cuts what the service says about it.
      const reason = request.signal?.reason;
      if (!(reason instanceof InterruptedError)) throw failure;
      throw new Failure(reason.code, `${reason.message}; ${failure.message}`, { ...failure.facts, isPermanent: true });
    }
    // The rest of the body may be sent meanwhile.
    const warnings = context.progress.phase === 'all' ? [] : [earlyWarning(request, context)];
    const { firstByte, response } = context.operation.canStream
      ? await peekBody(received).catch((error: unknown) => {
          throw failureFromBodyError(error, context);
        })
      : { response: received };
    if (!isEventStream(response, firstByte)) {
      const parsedResponse = await readResponse(response, context, onLargeResponse);
      warnings.unshift(...foreignIdWarnings(parsedResponse, context));
      return { response, parsedResponse, chunks: undefined, warnings };
    }
    const { openStream } = await import('./stream-chunks.ts');
    const chunks = await openStream(response, context, runtime.after);
    return { response, parsedResponse: undefined, chunks, warnings };
  } finally {
    onEnd?.();
  }
}

// A success status in the middle of an upload can apply to only a part of the body.
function earlyWarning({ body: { length } }: HttpRequest, { progress: { sentBytes } }: RequestContext): string {
  const total = length === undefined ? '' : ` of ${length}`;
  return `the service responded after ${sentBytes}${total} bytes of the body were sent; it may have applied only part of it`;
}

const MIN_SHOWN_WAIT_MS = 5000;

function progressDescriber({ body }: HttpRequest, { progress }: RequestContext, elapsed: () => number): () => string {
  const startedAt = elapsed();
  return () => {
    const elapsedMs = elapsed() - startedAt;
    if (!(body instanceof Uint8Array) && progress.phase === 'part')
      return formatTransfer('sending', { bytes: progress.sentBytes, total: body.length, elapsedMs });
    return `waiting for the response${elapsedMs < MIN_SHOWN_WAIT_MS ? '' : `, ${formatSeconds(elapsedMs / 1000)}`}`;
  };
}

// A server may stream unasked, send plain JSON in spite of `stream: true` (docs/servers.md), or label either as the
// other. The first byte decides if it is clear: `{` of JSON, `data:` or `:` of an event. An empty body is not a stream.
function isEventStream({ headers }: HttpResponse, firstByte: number | undefined): boolean {
  if (firstByte === undefined || firstByte === OPEN_OBJECT) return false;
  if (firstByte === 0x64 || firstByte === COLON) return true;
  return getHeader(headers, 'content-type')?.toLowerCase().startsWith('text/event-stream') ?? false;
}

const LARGE_RESPONSE_BYTES = 1024 * 1024;

// Many small values need more memory for their index than for their text.
const MAX_RESPONSE_VALUES = 1_500_000;

async function readResponse(
  response: HttpResponse,
  context: RequestContext,
  onLargeResponse: SendHooks['onLargeResponse'],
): Promise<ParsedResponse> {
  const { completeBody } = response;
  const isComplete = completeBody && completeBody.length <= MAX_RESPONSE_BYTES;
  const bytes = isComplete ? completeBody : await collectResponse(response, context, onLargeResponse);
  let doc: JsonDocument | undefined;
  let problem: string | undefined;
  try {
    doc = parseJson(bytes, MAX_RESPONSE_VALUES);
    problem = resultProblem(rootOf(doc), context.operation);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    problem = bytes.length === 0 ? 'is empty' : `is not valid JSON: ${error.problem}`;
  }
  if (problem === undefined) return { bytes, doc, isPage: false, failure: undefined };
  const pageFailure = doc ? undefined : (await import('./status-failure.ts')).failureFromPage(bytes, context);
  const message = `the response from ${serviceName(context.destination)} ${problem}`;
  const failure = pageFailure ?? invalidResponseFailure(message, context);
  return { bytes, doc, isPage: pageFailure !== undefined, failure };
}

function resultProblem(root: JsonNode, { result: { member, as } }: Operation): string | undefined {
  if (kindOf(root) !== 'object') return 'is not an object';
  const result = getMember(root, member);
  if (!result || kindOf(result) === 'null') return `has no "${member}"`;
  if (as !== 'record' && kindOf(result) !== 'list') return `has a "${member}" that is not an array`;
  return as === 'chat' && itemsOf(result).next().done ? 'has no choices' : undefined;
}

async function collectResponse(
  response: HttpResponse,
  context: RequestContext,
  onLargeResponse: SendHooks['onLargeResponse'],
): Promise<Buffer> {
  let receivedBytes = 0;
  let release: (() => void) | undefined;
  const chunks = observeChunks(response.body, async (chunk) => {
    receivedBytes += chunk.length;
    if (receivedBytes > LARGE_RESPONSE_BYTES) release ??= await onLargeResponse?.();
  });
  const expectedBytes = Number(getHeader(response.headers, 'content-length') ?? 0) || 0;
  try {
    return await collectBody(chunks, MAX_RESPONSE_BYTES, expectedBytes);
  } catch (error) {
    const cutMessage = `the response from ${serviceName(context.destination)} was cut after ${receivedBytes} bytes`;
    throw failureFromBodyError(error, context, receivedBytes === 0 ? undefined : cutMessage);
  } finally {
    release?.();
  }
}

function foreignIdWarnings(response: ParsedResponse, context: RequestContext): string[] {
  return idPairs(response, context).flatMap(({ name, sent, received = sent }) => {
    if (received === sent) return [];
    return `the response has ${name} ${JSON.stringify(received)}, but ${JSON.stringify(sent)} was sent; it may be for another request`;
  });
}

/** True for a response that returns the id of the record that the request names: it is for no other request. */
export function hasIdOfRequest(response: Pick<ParsedResponse, 'doc'> | undefined, context: RequestContext): boolean {
  const [record] = Object.keys(context.operation.ids ?? {});
  return idPairs(response, context).some(({ what, sent, received }) => what === record && received === sent);
}

// A response has an id under the name that it has in the request.
function idPairs(response: Pick<ParsedResponse, 'doc'> | undefined, { ids, operation }: RequestContext) {
  return Object.entries(ids).map(([what, sent]) => {
    const name = String(operation.ids?.[what]?.at(-1));
    return { what, name, sent, received: response?.doc && firstStringMember(rootOf(response.doc), name) };
  });
}
