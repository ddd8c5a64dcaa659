import type { Buffer } from 'node:buffer';
import { Failure, InterruptedError } from '../errors.ts';
import { observeChunks } from '../http/body-chunks.ts';
import { getHeader, type HttpRequest, type HttpResponse, type Send } from '../http/message.ts';
import { collectBody, decompressResponse, MAX_RESPONSE_BYTES, peekBody } from '../http/size-limits.ts';
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
import { failureFromBodyError, failureFromError, invalidResponseFailure, serviceName } from './failure.ts';
import type { RequestContext, SendHooks } from './request.ts';

/** The response to a successful attempt: complete, or the chunks of a stream, which can be read once. */
export type AttemptResult = {
  readonly response: HttpResponse;
  /** A warning that the response came before the whole body was sent. */
  readonly early: string | undefined;
} & (
  | { readonly parsedResponse: ParsedResponse; readonly chunks: undefined }
  | { readonly parsedResponse: undefined; readonly chunks: AsyncIterable<JsonNode> }
);

/** Sends a request once and reads the response, or the first chunk of a stream. Throws the Failure of the attempt. */
export async function sendOnce(
  send: Send,
  request: HttpRequest,
  context: RequestContext,
  { onAttempt, onLargeResponse }: Pick<SendHooks, 'onAttempt' | 'onLargeResponse'>,
  runtime: Pick<Runtime, 'now' | 'elapsed' | 'after'>,
): Promise<AttemptResult> {
  const onEnd = onAttempt?.(progressDescriber(request, context, runtime.elapsed));
  try {
    const received = await send(request)
      .then(decompressResponse)
      .catch((error: unknown) => {
        throw failureFromError(error, context);
      });
    if (received.status < 200 || received.status > 299) {
      const { failureFromStatus } = await import('./status-failure.ts');
      const failure = await failureFromStatus(received, context, runtime.now());
      throw request.signal?.aborted ? withInterruption(failure, request.signal.reason) : failure;
    }
    const early = earlyWarning(request, context);
    const { firstByte, response } = context.operation.canStream
      ? await peekBody(received).catch((error: unknown) => {
          throw failureFromBodyError(error, received, context, undefined);
        })
      : { response: received };
    if (!isEventStream(response, firstByte)) {
      const parsedResponse = await readResponse(response, context, onLargeResponse);
      return { response, parsedResponse, chunks: undefined, early };
    }
    const { openStream } = await import('./stream-chunks.ts');
    const chunks = await openStream(response, context, runtime);
    return { response, parsedResponse: undefined, chunks, early };
  } finally {
    onEnd?.();
  }
}

// Reading what an error status says ends without an error: the status is known.
function withInterruption(failure: Failure, reason: unknown): Failure {
  if (!(reason instanceof InterruptedError)) return failure;
  return new Failure(reason.code, `${reason.message}; ${failure.message}`, { ...failure.facts, isPermanent: true });
}

// A success status in the middle of an upload can apply to only a part of the body.
function earlyWarning({ body }: HttpRequest, { progress: { phase, sentBytes } }: RequestContext): string | undefined {
  if (phase === 'all') return undefined;
  const total = body.length === undefined ? '' : ` of ${body.length}`;
  return `the service responded after ${sentBytes}${total} bytes of the body were sent; it may have applied only part of it`;
}

// Shorter waits need no number that changes.
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

// Throws a Failure if the body does not arrive completely.
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
  const pageFailure = doc ? undefined : (await import('./status-failure.ts')).failureFromPage(bytes, response, context);
  const message = `the response from ${serviceName(context.destination)} ${problem}`;
  const failure = pageFailure ?? invalidResponseFailure(message, response, context);
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
    throw failureFromBodyError(error, response, context, receivedBytes === 0 ? undefined : cutMessage);
  } finally {
    release?.();
  }
}

/** Signs that a successful response is for another request, or for a part of this one. */
export function suspectResponseWarnings({ parsedResponse, early }: AttemptResult, context: RequestContext): string[] {
  const warnings = Object.entries(context.ids).flatMap(([what, sent]) => {
    const name = idField(what, context);
    const received = responseId(parsedResponse, name) ?? sent;
    if (received === sent) return [];
    return `the response has ${name} ${JSON.stringify(received)}, but ${JSON.stringify(sent)} was sent; it may be for another request`;
  });
  return early ? [...warnings, early] : warnings;
}

/** True for a response that returns the id of the record that the request names: it is for no other request. */
export function hasIdOfRequest(parsedResponse: IdSource, context: RequestContext): boolean {
  const [what = ''] = Object.keys(context.operation.ids ?? {});
  const sent = context.ids[what];
  return sent !== undefined && responseId(parsedResponse, idField(what, context)) === sent;
}

type IdSource = Pick<ParsedResponse, 'doc'> | undefined;

// A response has an id under the name that it has in the request.
function idField(what: string, { operation }: RequestContext): string {
  return String(operation.ids?.[what]?.at(-1));
}

function responseId(parsedResponse: IdSource, name: string): string | undefined {
  return parsedResponse?.doc && firstStringMember(rootOf(parsedResponse.doc), name);
}
