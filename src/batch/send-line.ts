import { Buffer } from 'node:buffer';
import { requestedChoiceCount } from '../body/chat/streaming.ts';
import { createChunkMerger } from '../client/chunk-merger.ts';
import { createMemoryBudget } from '../client/memory-budget.ts';
import { withMiddleware } from '../client/open-transport.ts';
import { invalidResponseFailure, type ParsedResponse } from '../client/read-response.ts';
import type { RequestContext } from '../client/request-context.ts';
import { outcomeOfFailure, outcomeOfResponse } from '../client/request-outcome.ts';
import { abortableDelay, formatRetryMessage, randomFraction } from '../client/retry-options.ts';
import type { RequestObserver } from '../client/send-and-show.ts';
import { type AttemptResult, sendOnce } from '../client/send-once.ts';
import { readStreamChunks } from '../client/stream-chunks.ts';
import { type RetryOptions, withRetries } from '../client/with-retries.ts';
import { Failure } from '../errors.ts';
import { createDeadline, type Deadline } from '../http/deadline.ts';
import { rootOf } from '../json/json-node.ts';
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
  const { runtime, signal } = job.context;
  const streamController = requestContext.operation.streams ? new AbortController() : undefined;
  const linkedSignal = streamController ? AbortSignal.any([signal, streamController.signal]) : signal;
  const quietContext = { ...job.context, spin: () => () => {} };
  const request = {
    method: 'POST',
    url: job.url.href,
    headers: job.headers,
    body: requestContext.draft.doc.bytes,
    signal: linkedSignal,
  };
  let deadline: Deadline | undefined;
  const sendWhenAllowed = async (): Promise<AttemptResult> => {
    const permit = await job.rateLimiter.acquire().catch(() => {
      throw notSentFailure();
    });
    let failure: Failure | undefined;
    try {
      // The time of a line begins when it may leave, not while others are under way.
      if (!deadline) {
        await observer.begin();
        deadline = createDeadline(job.timeoutMs, runtime);
      }
      return await sendOnce(
        withMiddleware(job.send, requestContext.progress, deadline, job.context),
        request,
        requestContext,
        quietContext,
      );
    } catch (error) {
      if (error instanceof Failure) failure = error;
      throw error;
    } finally {
      permit.release(failure?.code === 'limited' || failure?.code === 'unreachable', failure?.facts.retryAfter);
    }
  };
  const retryOptions: RetryOptions = {
    maxRetries: job.maxRetries,
    budget: job.retryBudget,
    remainingMs: () => deadline?.remainingMs() ?? Number.POSITIVE_INFINITY,
    random: () => randomFraction(runtime),
    sleep: (milliseconds) => abortableDelay(milliseconds, runtime, job.stopController.signal),
    onRetry: (failure, repeat, milliseconds) =>
      job.context.report.detail(`line ${line}: ${formatRetryMessage(failure, repeat, job.maxRetries, milliseconds)}`),
  };
  const attemptResult = await withRetries(sendWhenAllowed, requestContext, retryOptions).catch(
    async (error: unknown) => {
      await observer.end(outcomeOfFailure(error, requestContext));
      throw error;
    },
  );
  await observer.end(outcomeOfResponse(attemptResult, requestContext));
  const { response, parsedResponse } = attemptResult;
  if (parsedResponse) return { status: response.status, parsedResponse, failure: parsedResponse.failure };
  return mergeStream(response, requestContext, () => streamController?.abort(), job);
}

async function mergeStream(
  reply: AttemptResult['response'],
  requestContext: RequestContext,
  stop: () => void,
  job: BatchJob,
): Promise<SendLineResult> {
  const { operation, draft } = requestContext;
  const choices = requestedChoiceCount(rootOf(draft.doc));
  const memoryBudget = createMemoryBudget(MAX_STREAM_BYTES);
  const merged = createChunkMerger(operation.reply, memoryBudget);
  let failure: Failure | undefined;
  try {
    for await (const chunk of readStreamChunks(reply, requestContext, {
      choices,
      after: job.context.runtime.after,
      stop,
    }))
      merged.addChunk(chunk);
    if (!memoryBudget.isWithinLimit())
      failure = invalidResponseFailure(
        `the stream is longer than what can be held (${MAX_STREAM_BYTES} bytes)`,
        reply,
        requestContext,
      );
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    failure = error;
  }
  return { status: reply.status, parsedResponse: { bytes: Buffer.from(merged.toJson()) }, failure };
}

// Whoever waits for a turn has not been sent, this time.
function notSentFailure(): Failure {
  return new Failure('interrupted', 'not sent', { applied: 'no', isPermanent: true });
}
