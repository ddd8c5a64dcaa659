import { Buffer } from 'node:buffer';
import { Failure } from '../errors.ts';
import { formatByteSize } from '../files/byte-size.ts';
import { collectBody, MAX_RESPONSE_BYTES, observeChunks } from '../http/body-chunks.ts';
import { getHeader, type HttpResponse } from '../http/message.ts';
import { COLON, OPEN_OBJECT } from '../json/json-bytes.ts';
import { JsonError } from '../json/json-error.ts';
import type { JsonDocument, JsonNode } from '../json/json-node.ts';
import { firstStringMember, getMember, itemsAt, itemsOf, kindOf, rawText, rootOf } from '../json/json-node.ts';
import { parseJson } from '../json/parse-json.ts';
import { hasOutput } from '../operations/chat-text.ts';
import type { Operation } from '../operations/operation.ts';
import { type ReceivedFacts, readFacts } from '../operations/received-facts.ts';
import { mapTexts } from '../output/failure-text.ts';
import { type FoldedStream, foldStream, MAX_STREAM_BYTES } from '../results/fold-stream.ts';
import type { ParsedResponse } from '../results/show-response.ts';
import type { Runtime } from '../runtime.ts';
import {
  createRequestRedactor,
  failureFromBodyError,
  invalidResponseFailure,
  serviceName,
} from './exchange-failure.ts';
import { type RequestContext, requestSecrets, type SendHooks } from './request.ts';
import type { ResponseMemory } from './response-memory.ts';
import { isErrorBody, resultEvidence } from './verdict.ts';

/** A response with a 2xx status: complete, or the chunks of a stream, of which the first has arrived. */
export type ReceivedResponse = {
  readonly response: HttpResponse;
  /** Signs that the response is for another request, or for a part of this one. */
  readonly warnings: readonly string[];
} & (
  | { readonly parsedResponse: ParsedResponse; readonly chunks: undefined }
  | { readonly parsedResponse: undefined; readonly chunks: AsyncIterable<JsonNode> }
);

/** What came of a request: its response, whole or streamed, or its failure alone. */
export interface ReadOutcome extends ParsedResponse {
  readonly kind: 'none' | 'whole' | 'stream';
  readonly status: number | undefined;
  readonly facts: ReceivedFacts;
  readonly warnings: readonly string[];
  /** When the response was complete, by the clock `elapsed`: the end of a stream may come later than its last chunk. */
  readonly endedAt: number;
  /** When the first chunk with output came; undefined without one. */
  readonly firstOutputAt: number | undefined;
  /** Why a stream could not be printed. */
  readonly printError?: unknown;
}

export type FoldStream = (
  chunks: AsyncIterable<JsonNode>,
  failureOf: (doc: JsonDocument) => Promise<Failure | undefined>,
) => Promise<FoldedStream>;

/** Reads a response to its end: the one reader of single requests, sessions, batch lines, tools and probes. */
export async function readOutcome(
  received: ReceivedResponse | Failure,
  request: RequestContext,
  { elapsed }: Pick<Runtime, 'elapsed'>,
  fold: FoldStream,
): Promise<ReadOutcome> {
  if (received instanceof Failure) {
    const { status, received: facts = {} } = received.facts;
    return { ...NO_RESPONSE, failure: received, status, facts, endedAt: elapsed() };
  }
  const { parsedResponse, chunks, warnings } = received;
  const { status, headers } = received.response;
  const failureOf = (doc: JsonDocument): Promise<Failure | undefined> => finishFailure(rootOf(doc), request);
  const factsOf = (doc: JsonDocument | undefined): ReceivedFacts => {
    const root = doc && rootOf(doc);
    const found = readFacts({ headers, response: root });
    // A redactor takes time, and most requests have no secret but the credential, which every report redacts.
    return requestSecrets(request).length === 0 ? found : mapTexts(found, createRequestRedactor(request));
  };
  if (parsedResponse) {
    const { doc } = parsedResponse;
    const failure = parsedResponse.failure ?? (doc && (await failureOf(doc)));
    const facts = { ...failure?.facts.received, ...factsOf(doc) };
    const endedAt = elapsed();
    return { ...parsedResponse, kind: 'whole', failure, status, facts, warnings, endedAt, firstOutputAt: undefined };
  }
  let lastChunkAt: number | undefined;
  let firstOutputAt: number | undefined;
  const timedChunks = observeChunks(chunks, (chunk) => {
    lastChunkAt = elapsed();
    if (firstOutputAt === undefined && hasOutput(chunk)) firstOutputAt = lastChunkAt;
  });
  const folded = await fold(timedChunks, failureOf);
  const { doc } = folded;
  const endedAt = (folded.failure ? undefined : lastChunkAt) ?? elapsed();
  const facts = { ...folded.failure?.facts.received, ...factsOf(doc) };
  return {
    ...folded,
    kind: 'stream',
    bytes: doc.bytes,
    isPage: false,
    hasResult: true,
    status,
    facts,
    warnings: [...warnings, ...folded.warnings],
    endedAt,
    firstOutputAt,
  };
}

const NO_RESPONSE = {
  kind: 'none',
  bytes: Buffer.alloc(0),
  doc: undefined,
  hasResult: false,
  isPage: false,
  warnings: [],
  firstOutputAt: undefined,
} as const;

/** Folds a stream in memory, as much of it as `memory` lets it hold. */
export function mergeChunks(request: RequestContext, memory?: ResponseMemory): FoldStream {
  const limit = `the stream exceeds the limit of ${formatByteSize(MAX_STREAM_BYTES)}`;
  const createLimitFailure = (): Failure => invalidResponseFailure(limit, request);
  return async (chunks, failureOf) => {
    const folded = await foldStream(chunks, request.operation.reply, { createLimitFailure, hold: memory?.hold });
    return { ...folded, failure: folded.failure ?? (await failureOf(folded.doc)) };
  };
}

const FAILED_FINISH_REASONS = ['error', 'network_error', 'insufficient_system_resource'];

// A chat that the service could not finish: in a choice, or beside the choices. The text so far was paid for.
async function finishFailure(response: JsonNode, request: RequestContext): Promise<Failure | undefined> {
  if (request.operation.result.as !== 'chat') return undefined;
  for (const place of [response, ...itemsAt(response, 'choices')]) {
    const error = getMember(place, 'error');
    const hasError = error !== undefined && kindOf(error) !== 'null';
    const reason = firstStringMember(place, 'finish_reason') ?? '';
    if (!hasError && !FAILED_FINISH_REASONS.includes(reason)) continue;
    const { failureFromErrorBody } = await import('./status-failure.ts');
    const body = Buffer.from(`{"error":${hasError ? rawText(error) : JSON.stringify(`finish reason ${reason}`)}}`);
    const what = 'ended the response with an error';
    return failureFromErrorBody(body, request, { what, place: ' in the response', evidence: 'some' });
  }
  return undefined;
}

// A server may stream unasked, send plain JSON in spite of `stream: true` (docs/internals/servers.md), or label either as the
// other. The first byte decides if it is clear: `{` of JSON, `data:` or `:` of an event. An empty body is not a stream.
export function isEventStream({ headers }: HttpResponse, firstByte: number | undefined): boolean {
  if (firstByte === undefined || firstByte === OPEN_OBJECT) return false;
  if (firstByte === 0x64 || firstByte === COLON) return true;
  return getHeader(headers, 'content-type')?.toLowerCase().startsWith('text/event-stream') ?? false;
}

// Many small values need more memory for their index than for their text.
const MAX_RESPONSE_VALUES = 1_500_000;

export async function readResponse(
  response: HttpResponse,
  context: RequestContext,
  memory: SendHooks['memory'],
): Promise<ParsedResponse> {
  const { completeBody } = response;
  const isComplete = completeBody && completeBody.length <= MAX_RESPONSE_BYTES;
  const bytes = isComplete ? completeBody : await collectResponse(response, context, memory);
  let doc: JsonDocument | undefined;
  let problem: string | undefined;
  try {
    doc = parseJson(bytes, MAX_RESPONSE_VALUES);
    problem = resultProblem(rootOf(doc), context.operation);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    problem = bytes.length === 0 ? 'is empty' : `is not valid JSON: ${error.problem}`;
  }
  if (problem === undefined) return { bytes, doc, hasResult: true, isPage: false, failure: undefined };
  const shown = redactBytes(bytes, context);
  if (doc && isErrorBody(rootOf(doc)) && !isOllamaResult(rootOf(doc)))
    return { bytes: shown, doc, hasResult: false, isPage: false, failure: await errorFailure(doc, problem, context) };
  const pageFailure = doc ? undefined : (await import('./status-failure.ts')).failureFromPage(bytes, context);
  const message = `the response from ${serviceName(context.destination)} ${problem}`;
  const failure = pageFailure ?? invalidResponseFailure(message, context);
  return { bytes: shown, doc, hasResult: false, isPage: pageFailure !== undefined, failure };
}

const WINDOW_BYTES = 1024 * 1024;
// Longer than a secret in two strings of JSON.
const WINDOW_OVERLAP_BYTES = 64 * 1024;

// What is not a result may repeat the request. A text of a whole response would double its memory, so only windows are searched.
function redactBytes(bytes: Buffer, context: RequestContext): Buffer {
  const redact = createRequestRedactor(context);
  for (let at = 0; at < bytes.length; at += WINDOW_BYTES) {
    const text = bytes.toString('latin1', at, at + WINDOW_BYTES + WINDOW_OVERLAP_BYTES);
    if (redact(text) !== text) return Buffer.from(redact(bytes.toString('latin1')), 'latin1');
  }
  return bytes;
}

// Throws it if it proves that the request was not applied: svc may retry it.
async function errorFailure(doc: JsonDocument, problem: string, context: RequestContext): Promise<Failure> {
  const { failureFromErrorBody } = await import('./status-failure.ts');
  const status = context.response?.status;
  const failure = failureFromErrorBody(doc.bytes, context, {
    what: `returned an error under status ${status}: its response ${problem}`,
    place: ` in a response with status ${status}`,
    evidence: resultEvidence(rootOf(doc)),
  });
  if (failure.facts.applied === 'no') throw failure;
  return failure;
}

function resultProblem(root: JsonNode, { result: { member, as } }: Operation): string | undefined {
  if (kindOf(root) !== 'object') return 'is not an object';
  const result = getMember(root, member);
  if (!result && isOllamaResult(root))
    return "is that of Ollama's own API; the base URL of its chat completions ends in /v1";
  if (!result || kindOf(result) === 'null') return `has no "${member}"`;
  if (as !== 'record' && kindOf(result) !== 'list') return `has a "${member}" that is not an array`;
  return as === 'chat' && itemsOf(result).next().done ? 'has no choices' : undefined;
}

function isOllamaResult(root: JsonNode): boolean {
  return ['model', 'created_at', 'done'].every((name) => getMember(root, name));
}

async function collectResponse(
  response: HttpResponse,
  context: RequestContext,
  memory: SendHooks['memory'],
): Promise<Buffer> {
  let receivedBytes = 0;
  const chunks = observeChunks(response.body, async (chunk) => {
    receivedBytes += chunk.length;
    await memory?.hold(Math.max(receivedBytes, expectedBytes));
  });
  const expectedBytes = Number(getHeader(response.headers, 'content-length') ?? 0) || 0;
  try {
    // A body of a known length gets its memory before its first byte.
    await memory?.hold(expectedBytes);
    return await collectBody(chunks, MAX_RESPONSE_BYTES, expectedBytes);
  } catch (error) {
    const cutMessage = `the response from ${serviceName(context.destination)} was cut after ${receivedBytes} bytes`;
    throw failureFromBodyError(error, context, receivedBytes === 0 ? undefined : cutMessage);
  }
}

export function foreignIdWarnings({ doc }: ParsedResponse, context: RequestContext): string[] {
  return idPairs(doc, context).flatMap(({ name, sent, received = sent }) => {
    if (received === sent) return [];
    return `the response has ${name} ${JSON.stringify(received)}, but ${JSON.stringify(sent)} was sent; it may be for another request`;
  });
}

/** True for a response that returns the id of the record that the request names: it is for no other request. */
export function hasIdOfRequest(response: JsonDocument | undefined, context: RequestContext): boolean {
  const [record] = Object.keys(context.operation.ids ?? {});
  return idPairs(response, context).some(({ what, sent, received }) => what === record && received === sent);
}

// A response has an id under the name that it has in the request.
function idPairs(response: JsonDocument | undefined, { ids, operation }: RequestContext) {
  return Object.entries(ids).map(([what, sent]) => {
    const name = String(operation.ids?.[what]?.at(-1));
    return { what, name, sent, received: response && firstStringMember(rootOf(response), name) };
  });
}
