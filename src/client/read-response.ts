import { Buffer } from 'node:buffer';
import type { Failure, RequestOutcome } from '../errors.ts';
import { observeChunks } from '../http/body-chunks.ts';
import { getHeader, type HttpResponse } from '../http/message.ts';
import { collectBody, MAX_RESPONSE_BYTES } from '../http/size-limits.ts';
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
import type { ParsedResponse } from '../results/show-response.ts';
import {
  createRequestRedactor,
  failureFromBodyError,
  invalidResponseFailure,
  serviceName,
} from './exchange-failure.ts';
import type { RequestContext, SendHooks } from './request.ts';
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

/** What came of the attempts of a request: a response, or the failure of the attempt that was most likely applied. */
export interface Exchange {
  readonly received: ReceivedResponse | undefined;
  readonly failure: Failure | undefined;
  /** What is known about the request; of a stream, when it begins. */
  readonly outcome: RequestOutcome;
  /** Settles when the response to an attempt turns out to be perhaps for another request, also after its end. */
  readonly strayData: Promise<void>;
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
  if (doc && isErrorBody(rootOf(doc)))
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
  if (!result || kindOf(result) === 'null') return `has no "${member}"`;
  if (as !== 'record' && kindOf(result) !== 'list') return `has a "${member}" that is not an array`;
  return as === 'chat' && itemsOf(result).next().done ? 'has no choices' : undefined;
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
