import type { Buffer } from 'node:buffer';
import { type AppliedState, Failure, type FailureFacts, InterruptedError } from '../errors.ts';
import { collectBody, observeChunks, UnusableBodyError } from '../http/body-chunks.ts';
import { getHeader, type HttpResponse, rateLimitHeaders, responseRequestId } from '../http/message.ts';
import { JsonError } from '../json/json-error.ts';
import { getMember, itemsOf, type JsonDocument, type JsonNode, kindOf, rootOf } from '../json/json-node.ts';
import { parseJson } from '../json/parse-json.ts';
import type { Operation } from '../operations/operation.ts';
import type { ParsedResponse } from '../results/show-response.ts';
import { exchangeErrorReason, failureFromError } from './failure.ts';
import { progressFacts, type RequestContext, type RequestObserver, retryAdvice, serviceName } from './request.ts';

const MAX_RESPONSE_BYTES = 32 * 1024 * 1024;
const LARGE_RESPONSE_BYTES = 1024 * 1024;

// Many small values need more memory for their index than for their text.
const MAX_RESPONSE_VALUES = 1_500_000;

/** Reads the whole body of a 2xx response. Throws a Failure if it does not arrive completely. */
export async function readResponse(
  response: HttpResponse,
  context: RequestContext,
  onLargeResponse?: RequestObserver['onLargeResponse'],
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
  onLargeResponse: RequestObserver['onLargeResponse'],
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

/** The failure of a response that breaks the interface: the request was applied all the same. */
export function invalidResponseFailure(
  message: string,
  response: HttpResponse,
  context: RequestContext,
  isTruncated = false,
): Failure {
  const hint = isTruncated
    ? retryAdvice(context)
    : `check that ${context.destination.url.href} is the service; -v shows the exchange`;
  return new Failure('invalid_response', message, { ...responseFacts(response, context), isTruncated, hint });
}

/**
 * The failure of a response that cannot be read to its end. `cutMessage` is for one of which a part has arrived; before
 * that the outcome is as unknown as without a status.
 */
export function failureFromBodyError(
  error: unknown,
  response: HttpResponse,
  context: RequestContext,
  cutMessage: string | undefined,
): Failure {
  if (error instanceof UnusableBodyError) {
    const message = `cannot read the response from ${serviceName(context.destination)}: ${error.message}`;
    return invalidResponseFailure(message, response, context);
  }
  if (error instanceof Failure) return error;
  if (cutMessage === undefined)
    return failureFromError(error, context, true).with({ requestId: responseRequestId(response.headers) });
  if (error instanceof InterruptedError) {
    const facts = { ...responseFacts(response, context), hint: retryAdvice(context) };
    return new Failure(error.code, `${error.message}; the response had started`, facts);
  }
  return invalidResponseFailure(`${cutMessage}: ${exchangeErrorReason(error)}`, response, context, true);
}

/** The facts about a request with a response; by default those of a 2xx status: it was applied. */
export function responseFacts(
  { status, headers }: HttpResponse,
  context: RequestContext,
  applied: AppliedState = 'yes',
): FailureFacts {
  return {
    ...progressFacts(context),
    status,
    requestId: responseRequestId(headers),
    rateLimit: rateLimitHeaders(headers),
    isRead: context.effect === 'read',
    applied,
    ids: applied === 'no' ? {} : context.ids,
  };
}
