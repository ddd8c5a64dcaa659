import { Buffer } from 'node:buffer';
import { Failure, type FailureFacts, InterruptedError } from '../errors.ts';
import { collectBody, UnusableBodyError } from '../http/collect-body.ts';
import { getHeader, type Response } from '../http/message.ts';
import { rateLimitHeaders } from '../http/rate-limit-headers.ts';
import { responseRequestId } from '../http/verbose-log.ts';
import { JsonError } from '../json/json-error.ts';
import { getMember, itemsOf, kindOf, rootOf } from '../json/json-node.ts';
import { type JsonDocument, parseJson } from '../json/parse-json.ts';
import type { ParsedResponse } from '../results/show-response.ts';
import { exchangeErrorReason, failureFromError } from './failure.ts';
import { retryAdvice } from './idempotency.ts';
import { type RequestContext, serviceName } from './request-context.ts';

const MAX_RESPONSE_BYTES = 32 * 1024 * 1024;

// Many small values need more memory for their index than for their text.
const MAX_RESPONSE_VALUES = 1_500_000;

/** Reads the whole body of a 2xx response. Throws a Failure if it does not arrive completely. */
export async function readResponse(response: Response, context: RequestContext): Promise<ParsedResponse> {
  const bytes = await readResponseBytes(response, context);
  const subject = `the response from ${serviceName(context.target)}`;
  const doc = parseResponseJson(bytes);
  if (doc instanceof JsonError) {
    const failure = invalidResponseFailure(
      bytes.length === 0 ? `${subject} is empty` : `${subject} is not valid JSON: ${doc.message}`,
      response,
      context,
    );
    return { bytes, doc: undefined, failure };
  }
  const { member: resultField, as } = context.operation.result;
  const isObject = kindOf(rootOf(doc)) === 'object';
  const result = isObject ? getMember(rootOf(doc), resultField) : undefined;
  const hasNoChoice = as === 'chat' && result && itemsOf(result).next().done === true;
  const isUsable = result && (as === 'record' ? kindOf(result) !== 'null' : kindOf(result) === 'list');
  if (isUsable && !hasNoChoice) return { bytes, doc, failure: undefined };
  const problem = isObject ? `has no ${hasNoChoice ? 'choice' : `"${resultField}"`}` : 'is not an object';
  return { bytes, doc, failure: invalidResponseFailure(`${subject} ${problem}`, response, context) };
}

/** The failure of a response that breaks the interface: the request was applied all the same. */
export function invalidResponseFailure(
  message: string,
  response: Response,
  context: RequestContext,
  isTruncated = false,
): Failure {
  return new Failure('answer', message, { ...successFacts(response, context), isTruncated });
}

/**
 * The failure of a response that cannot be read to its end. `cutMessage` is for one of which a part has arrived; before
 * that the outcome is as unknown as without a status.
 */
export function failureFromBodyError(
  error: unknown,
  response: Response,
  context: RequestContext,
  cutMessage: string | undefined,
): Failure {
  if (error instanceof UnusableBodyError) return invalidResponseFailure(error.message, response, context);
  if (error instanceof Failure || cutMessage === undefined) return failureFromError(error, context);
  if (error instanceof InterruptedError) {
    const facts = { ...successFacts(response, context), hint: retryAdvice(context.effect) };
    return new Failure(error.code, `${error.message}; the response had started`, facts);
  }
  return invalidResponseFailure(`${cutMessage}: ${exchangeErrorReason(error)}`, response, context, true);
}

/** What is known of a request after a 2xx status: it was applied, whatever happens to its response. */
export function successFacts({ status, headers }: Response, context: RequestContext): FailureFacts {
  const { ids, progress, target } = context;
  const { phase, sentBytes: bytesSent, attempts } = progress;
  return {
    url: target.url.href,
    status,
    requestId: responseRequestId(headers),
    rateLimit: rateLimitHeaders(headers),
    applied: 'yes',
    phase,
    bytesSent,
    attempts,
    ids,
  };
}

async function readResponseBytes(response: Response, context: RequestContext): Promise<Buffer> {
  const { completeBody } = response;
  if (completeBody && completeBody.length <= MAX_RESPONSE_BYTES)
    return Buffer.from(completeBody.buffer, completeBody.byteOffset, completeBody.length);
  let receivedBytes = 0;
  const countedPieces = async function* (): AsyncGenerator<Uint8Array> {
    for await (const piece of response.body) {
      receivedBytes += piece.length;
      yield piece;
    }
  };
  try {
    return await collectBody(
      countedPieces(),
      MAX_RESPONSE_BYTES,
      Number(getHeader(response.headers, 'content-length') ?? 0) || 0,
    );
  } catch (error) {
    throw failureFromBodyError(
      error,
      response,
      context,
      receivedBytes === 0
        ? undefined
        : `the response from ${serviceName(context.target)} was cut after ${receivedBytes} bytes`,
    );
  }
}

function parseResponseJson(bytes: Buffer): JsonDocument | JsonError {
  try {
    return parseJson(bytes, MAX_RESPONSE_VALUES);
  } catch (error) {
    if (error instanceof JsonError) return error;
    throw error;
  }
}
