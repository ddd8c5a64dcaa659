import { Buffer } from 'node:buffer';
import { createChunkMerger } from '../client/chunk-merger.ts';
import { exchange } from '../client/exchange.ts';
import { createMemoryBudget } from '../client/memory-budget.ts';
import { prepareRequest } from '../client/prepared-request.ts';
import { invalidResponseFailure, type ParsedResponse } from '../client/read-response.ts';
import type { RequestContext } from '../client/request-context.ts';
import type { RequestObserver } from '../client/request-observer.ts';
import { formatRetryMessage } from '../client/retry-delay.ts';
import { Failure } from '../errors.ts';
import { createDeadline } from '../http/deadline.ts';
import type { Response } from '../http/message.ts';
import type { JsonNode } from '../json/json-node.ts';
import type { BatchJob } from './batch-job.ts';

/** What came of a line that was sent. */
export interface SendLineResult {
  readonly status: number;
  readonly parsedResponse: Pick<ParsedResponse, 'bytes'> | undefined;
  readonly failure: Failure | undefined;
}

// Of a stream that is put together.
const MAX_STREAM_BYTES = 8 * 1024 * 1024;

/**
 * Sends the body of a line when it is its turn, again where that does no harm, and gives what came of it. `watch`
 * begins before the first byte leaves. Throws the Failure of a line that brought no answer.
 */
export async function sendLine(
  requestContext: RequestContext,
  line: number,
  observer: RequestObserver,
  job: BatchJob,
): Promise<SendLineResult> {
  const { runtime, signal, report } = job.context;
  const { operation, draft } = requestContext;
  const request = {
    ...prepareRequest(operation, draft, job.destination, job.flagHeaders),
    url: job.url,
    authorization: job.authorization,
  };
  const printingObserver: RequestObserver = {
    ...observer,
    onRetry: (failure, retryNumber, delayMs) =>
      report.detail(`line ${line}: ${formatRetryMessage(failure, retryNumber, job.maxRetries, delayMs)}`),
    ...(report.isVerbose ? { onTrace: report.detail } : {}),
  };
  const { response, parsedResponse, chunks } = await exchange(request, requestContext, printingObserver, {
    send: job.send,
    runtime,
    signal,
    waitSignal: job.stopController.signal,
    // The time of a line starts when it may be sent, not while it waits for others.
    startDeadline: () => createDeadline(job.timeoutMs, runtime),
    maxRetries: job.maxRetries,
    retryBudget: job.retryBudget,
    acquirePermit: async () => {
      const permit = await job.rateLimiter.acquire().catch(() => {
        throw notSentFailure();
      });
      return (failure) =>
        permit.release(failure?.code === 'limited' || failure?.code === 'unreachable', failure?.facts.retryAfter);
    },
  });
  if (parsedResponse) return { status: response.status, parsedResponse, failure: parsedResponse.failure };
  return mergeStream(response, chunks, requestContext);
}

async function mergeStream(
  response: Response,
  chunks: AsyncIterable<JsonNode>,
  requestContext: RequestContext,
): Promise<SendLineResult> {
  const memoryBudget = createMemoryBudget(MAX_STREAM_BYTES);
  const merged = createChunkMerger(requestContext.operation.reply, memoryBudget);
  let failure: Failure | undefined;
  try {
    for await (const chunk of chunks) merged.addChunk(chunk);
    if (!memoryBudget.isWithinLimit())
      failure = invalidResponseFailure(
        `the stream is longer than what can be held (${MAX_STREAM_BYTES} bytes)`,
        response,
        requestContext,
      );
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    failure = error;
  }
  return { status: response.status, parsedResponse: { bytes: Buffer.from(merged.toJson()) }, failure };
}

// Whoever waits for a turn has not been sent, this time.
function notSentFailure(): Failure {
  return new Failure('interrupted', 'not sent', { applied: 'no', isPermanent: true });
}
