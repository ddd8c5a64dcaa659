import type { Buffer } from 'node:buffer';
import { Failure, InterruptedError } from '../errors.ts';
import { collectBody, observeChunks, peekBody } from '../http/body-chunks.ts';
import { decompressResponse } from '../http/decompress.ts';
import { getHeader, type HttpRequest, type HttpResponse, type Send } from '../http/message.ts';
import { sendWithProgress } from '../http/request-progress.ts';
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
    const received = await sendWithProgress(request, context.progress, send)
      .then(decompressResponse)
      .catch((error: unknown) => {
        throw failureFromError(error, context);
      });
    context.response = received;
    if (received.status < 200 || received.status > 299) {
      const { failureFromStatus } = await import('./status-failure.ts');
      const failure = await failureFromStatus(received, context, runtime.now());
      throw request.signal?.aborted ? withInterruption(failure, request.signal.reason) : failure;
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

// Reading what an error status says ends without an error: the status is known.
function withInterruption(failure: Failure, reason: unknown): Failure {
  if (!(reason instanceof InterruptedError)) return failure;
  return new Failure(reason.code, `${reason.message}; ${failure.message}`, { ...failure.facts, isPermanent: true });
}

// A success status in the middle of an upload can apply to only a part of the body.
function earlyWarning({ body: { length } }: HttpRequest, { progress: { sentBytes } }: RequestContext): string {
  const total = length === undefined ? '' : ` of ${length}`;
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

const MAX_RESPONSE_BYTES = 32 * 1024 * 1024;
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

function foreignIdWarnings(parsedResponse: ParsedResponse, context: RequestContext): string[] {
  return Object.entries(context.ids).flatMap(([what, sent]) => {
    const name = idField(what, context);
    const received = responseId(parsedResponse, name) ?? sent;
    if (received === sent) return [];
    return `the response has ${name} ${JSON.stringify(received)}, but ${JSON.stringify(sent)} was sent; it may be for another request`;
  });
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
