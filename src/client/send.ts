import { createDraft } from '../body/draft.ts';
import type { Context } from '../context.ts';
import { Failure, InterruptedError, type RequestOutcome, toFailure } from '../errors.ts';
import { prependChunk } from '../files/read-input.ts';
import { peekBody } from '../http/body-chunks.ts';
import { decompressResponse } from '../http/decompress-response.ts';
import type { HttpRequest, Send } from '../http/message.ts';
import { createDeadline, type Deadline, watchExchange } from '../http/time-limits.ts';
import { firstStringMember, rootOf } from '../json/json-node.ts';
import { writeJson } from '../json/write-json.ts';
import { formatSeconds, formatTransfer } from '../output/transfer-text.ts';
import type { Runtime } from '../runtime.ts';
import { type Authorization, connect } from './connection.ts';
import { factsWithoutResponse, failureFromBodyError, failureFromError } from './exchange-failure.ts';
import type { JobGuard } from './job-guard.ts';
import type { FoldStream, ReadOutcome, ReceivedResponse } from './read-response.ts';
import { foreignIdWarnings, isEventStream, mergeChunks, readOutcome, readResponse } from './read-response.ts';
import type { PreparedRequest, RequestContext, SendHooks } from './request.ts';
import { createRequestContext, prepareRequest } from './request.ts';
import type { Settings } from './resolve-settings.ts';
import type { ResponseMemory } from './response-memory.ts';
import { withRetries } from './retry.ts';

/** The one way to send: a request with retries, and its response read to its end (docs/internals/contract.md, section 7). */
export async function send(
  context: RequestContext,
  hooks: SendHooks,
  runtime: Runtime,
  fold: FoldStream = mergeChunks(context, hooks.memory),
): Promise<SentRequest> {
  const { destination, authorization, headers, body, progress } = context;
  const { transport, timeoutMs } = context.connection;
  const { signal, turn } = hooks;
  const request: HttpRequest = {
    method: 'POST',
    url: destination.url.href,
    headers: authorization ? [...headers, ['Authorization', authorization.value.reveal()]] : headers,
    body,
    // Set for each attempt: V8 replaces a property of a copy 20 times as fast as it adds one.
    onBodySent: undefined,
    onInterimResponse: undefined,
    signal,
  };
  let deadline: Deadline | undefined;
  const strayData: Promise<void>[] = [];
  const attempt = async (): Promise<ReceivedResponse> => {
    await turn?.acquire();
    let failure: Failure | undefined;
    try {
      if (!deadline) {
        await hooks.onSend?.();
        deadline = hooks.deadline ?? createDeadline(timeoutMs, runtime);
      }
      const limit = deadline;
      const watchedSend: Send = (sent) => watchExchange(limit, progress, runtime.after)(transport.send)(sent);
      return await sendOnce(watchedSend, request, context, hooks, runtime);
    } catch (error) {
      if (error instanceof Failure) failure = error;
      throw error;
    } finally {
      if (context.response?.strayData) strayData.push(context.response.strayData);
      turn?.report(failure);
      // The time of the request starts when it may be sent, not while it waits for the service.
      if (failure && turn?.canWait(failure)) {
        deadline = undefined;
        await hooks.onWait?.();
      }
    }
  };
  const remainingMs = (): number => deadline?.remainingMs() ?? Number.POSITIVE_INFINITY;
  const end = await withRetries(attempt, context, remainingMs, hooks, runtime).catch(toFailure);
  await hooks.onOutcome?.(outcomeOf(end, context));
  const received = end instanceof Failure && turn ? turn.toOutcome(end) : end;
  const read = await readOutcome(received, context, runtime, fold);
  // A connection holds it for many requests, and a race is several objects.
  const [only, ...others] = strayData;
  return { ...read, strayData: only && others.length === 0 ? only : Promise.race(strayData) };
}

export interface SentRequest extends ReadOutcome {
  /** Settles when the response to an attempt turns out to be perhaps for another request, also after its end. */
  readonly strayData: Promise<void>;
}

function outcomeOf(end: ReceivedResponse | Failure, context: RequestContext): RequestOutcome {
  if (end instanceof Failure) {
    // If the failure does not say, its phase decides.
    const { applied = factsWithoutResponse(context).applied ?? 'unknown' } = end.facts;
    return { applied, exitCode: end.exitCode, id: undefined };
  }
  // It was applied, even if the response breaks the interface, unless an HTML page took its place.
  const { doc, failure } = end.parsedResponse ?? {};
  const id = doc && firstStringMember(rootOf(doc), context.operation.result.member);
  return { applied: failure?.facts.applied ?? 'yes', exitCode: failure?.exitCode ?? 0, id };
}

interface SendOptions {
  readonly authorization?: Authorization | undefined;
  readonly guard?: JobGuard | undefined;
  readonly memory?: ResponseMemory | undefined;
}

/** Sends one request over a connection of its own, and reads its response. */
export async function sendAlone(
  request: PreparedRequest,
  settings: Settings,
  context: Context,
  { authorization, guard, memory }: SendOptions = {},
): Promise<ReadOutcome> {
  const { runtime, signal } = context;
  const deadline = createDeadline(settings.timeoutMs, runtime);
  const connection = await connect(settings, context, authorization);
  const requestContext = createRequestContext(request, connection);
  const { onSend, recordOutcome: onOutcome } = guard ?? {};
  try {
    return await send(requestContext, { signal, deadline, onSend, onOutcome, memory }, runtime);
  } finally {
    await connection.transport.close();
  }
}

/** As sendAlone, for a JSON body that svc made itself. Throws the Failure of the request. */
export async function sendJson(body: string, settings: Settings, context: Context, authorization?: Authorization) {
  const outcome = await sendAlone(prepareRequest(settings, createDraft(body)), settings, context, { authorization });
  if (outcome.failure) throw outcome.failure;
  return outcome;
}

const MAX_PROBE_TIMEOUT_MS = 30_000;
const PROBE_WINDOW_MS = 60_000;

/**
 * Requests the schema of one feedback payload of the last minute, which changes nothing and costs nothing, and returns the
 * status of the response. `settings` are those of the operation. Throws the Failure of anything but a valid response, without
 * retries unless they are set, and within 30 s, or within the time limit of the settings if that is less.
 */
export async function probeFeedbackSchema(
  projectId: string,
  settings: Settings,
  context: Context,
  authorization?: Authorization,
): Promise<number | null> {
  const now = context.runtime.now();
  const [start, end] = [now - PROBE_WINDOW_MS, now].map((time) => new Date(time).toISOString());
  const body = writeJson({ project_id: projectId, start, end, sample_limit: 1 });
  const timeoutMs = Math.min(settings.timeoutMs ?? MAX_PROBE_TIMEOUT_MS, MAX_PROBE_TIMEOUT_MS);
  const maxRetries = settings.areRetriesDefault ? 0 : settings.maxRetries;
  const { status } = await sendJson(body, { ...settings, timeoutMs, maxRetries }, context, authorization);
  return status ?? null;
}

/** Sends a request once. Throws the Failure of the attempt; a response that breaks the interface is an outcome with a failure in it. */
export async function sendOnce(
  send: Send,
  request: HttpRequest,
  context: RequestContext,
  { onAttempt, memory }: Pick<SendHooks, 'onAttempt' | 'memory'>,
  runtime: Pick<Runtime, 'now' | 'elapsed' | 'after'>,
): Promise<ReceivedResponse> {
  context.response = undefined;
  const onEnd = onAttempt?.(progressDescriber(request, context, runtime.elapsed));
  // Those of a stream are complete when it has been read.
  const warnings: string[] = [];
  try {
    const received = await send(request)
      .then((response) => decompressResponse(response, (note) => warnings.push(note)))
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
    if (context.progress.phase !== 'all') warnings.push(earlyWarning(request, context));
    const { firstByte, response } = context.operation.canStream
      ? await peekBody(received).catch((error: unknown) => {
          throw failureFromBodyError(error, context);
        })
      : { response: received };
    if (!isEventStream(response, firstByte)) {
      const parsedResponse = await readResponse(response, context, memory);
      warnings.unshift(...foreignIdWarnings(parsedResponse, context));
      return { response, parsedResponse, chunks: undefined, warnings };
    }
    const { readStreamChunks } = await import('./stream-chunks.ts');
    const rest = readStreamChunks(response, context, runtime.after, (warning) => warnings.push(warning));
    const first = await rest.next();
    const chunks = first.done ? rest : prependChunk(first.value, rest);
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
