import { Buffer } from 'node:buffer';
import type { Failure } from '../errors.ts';
import { formatByteSize } from '../files/byte-size.ts';
import { observeChunks } from '../http/body-chunks.ts';
import {
  firstStringMember,
  getMember,
  itemsAt,
  type JsonDocument,
  type JsonNode,
  kindOf,
  rawText,
  rootOf,
} from '../json/json-node.ts';
import { hasOutput } from '../operations/chat-text.ts';
import { type ReceivedFacts, readFacts } from '../operations/received-facts.ts';
import { mapTexts } from '../output/failure-text.ts';
import { type FoldedStream, foldStream, MAX_STREAM_BYTES } from '../results/fold-stream.ts';
import type { ParsedResponse } from '../results/show-response.ts';
import type { Runtime } from '../runtime.ts';
import { createRequestRedactor, invalidResponseFailure } from './exchange-failure.ts';
import type { Exchange } from './read-response.ts';
import { type RequestContext, requestSecrets } from './request.ts';
import type { ResponseMemory } from './response-memory.ts';

/** What came of a request: its response, whole or streamed, or its failure alone. */
export interface ReadOutcome extends ParsedResponse {
  /** Undefined without a response. */
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

/** Folds a stream; `failureOf` judges the whole response. */
export type FoldStream = (
  chunks: AsyncIterable<JsonNode>,
  failureOf: (doc: JsonDocument) => Promise<Failure | undefined>,
) => Promise<FoldedStream>;

/** Reads a response to its end: the one reader of single requests, sessions, batch lines, tools and probes. */
export async function readOutcome(
  { received, failure: sendFailure }: Pick<Exchange, 'received' | 'failure'>,
  request: RequestContext,
  { elapsed }: Pick<Runtime, 'elapsed'>,
  fold: FoldStream,
): Promise<ReadOutcome> {
  if (!received) {
    const { status, received: facts = {} } = sendFailure?.facts ?? {};
    return { ...NO_RESPONSE, failure: sendFailure, status, facts, endedAt: elapsed() };
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
    return { ...parsedResponse, failure, status, facts, warnings, endedAt: elapsed(), firstOutputAt: undefined };
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
