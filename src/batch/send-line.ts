import { Buffer } from 'node:buffer';
import { type ExchangeOptions, exchange, type Outcome } from '../client/exchange.ts';
import { prepareRequest } from '../client/prepared-request.ts';
import { invalidResponseFailure } from '../client/read-response.ts';
import type { RequestContext } from '../client/request-context.ts';
import type { RequestObserver } from '../client/request-observer.ts';
import { formatRetryMessage } from '../client/with-retries.ts';
import { Failure } from '../errors.ts';
import { createDeadline } from '../http/deadline.ts';
import { observeChunks } from '../http/observe-chunks.ts';
import { parseJson } from '../json/parse-json.ts';
import { mergeStream } from '../results/merge-stream.ts';
import type { ParsedResponse } from '../results/show-response.ts';
import type { BatchJob, LineObserver } from './batch-job.ts';
import { isConnectFailure } from './outage.ts';
import type { PermitHold, RateLimiterPermit } from './rate-limiter.ts';

/** The result of a line that was sent. */
export interface SendLineResult {
  readonly status: number;
  readonly parsedResponse: Pick<ParsedResponse, 'bytes' | 'doc'> | undefined;
  readonly failure: Failure | undefined;
  /** Signs that the response is for another request. */
  readonly warnings: readonly string[];
  /** When the last chunk of a complete stream came, by the runtime's `elapsed`: the end of a stream may come late. */
  readonly lastChunkAt?: number | undefined;
}

/** The hooks of the caller of sendLine. */
export interface SendLineHooks {
  /** Called when a response of the line may be for another request, also after the result. */
  readonly onStrayData: () => void;
  /** The caller ends it. */
  readonly permitHold: PermitHold;
}

/**
 * Sends the body of a line when the limits allow it, with retries when safe; while the service is down the line waits.
 * Throws the Failure of a line without a response.
 */
export async function sendLine(
  requestContext: RequestContext,
  line: number,
  { onSend, onOutcome }: LineObserver,
  { onStrayData, permitHold }: SendLineHooks,
  job: BatchJob,
): Promise<SendLineResult> {
  const { runtime, report } = job.context;
  const { operation, draft } = requestContext;
  const request = prepareRequest(operation, draft, job.destination, job.flagHeaders);
  const printingObserver: RequestObserver = {
    onSend,
    onOutcome,
    onLargeResponse: job.takeTurn,
    onRetry: (failure, retryNumber, delayMs) => {
      permitHold.end();
      return report.detail(`line ${line}: ${formatRetryMessage(failure, retryNumber, job.maxRetries, delayMs)}`);
    },
    onTrace: report.isVerbose ? report.detail : undefined,
  };
  const options: ExchangeOptions = {
    send: job.send,
    runtime,
    signal: job.signal,
    waitSignal: job.stopSignal.signal,
    // The time of a line starts when it may be sent, not while it waits for others.
    startDeadline: () => createDeadline(job.timeoutMs, runtime),
    maxRetries: job.maxRetries,
    acquirePermit: async () => {
      const permit = await job.rateLimiter.acquire().catch(() => {
        throw notSentFailure();
      });
      return (failure) => releasePermit(permit, failure, job, permitHold);
    },
    onStrayData,
  };
  const { response, parsedResponse, chunks, warnings } = await waitOutOutages(
    () => exchange(request, requestContext, printingObserver, options),
    job,
    permitHold,
  );
  if (parsedResponse) return { status: response.status, parsedResponse, failure: parsedResponse.failure, warnings };
  let lastChunkAt: number | undefined;
  const timedChunks = observeChunks(chunks, () => {
    lastChunkAt = runtime.elapsed();
  });
  const createFailure = (message: string): Failure => invalidResponseFailure(message, response, requestContext);
  const { json, failure } = await mergeStream(timedChunks, operation.reply, createFailure, job.takeTurn);
  if (failure) lastChunkAt = undefined;
  const bytes = Buffer.from(json);
  return { status: response.status, parsedResponse: { bytes, doc: parseJson(bytes) }, failure, warnings, lastChunkAt };
}

function releasePermit(
  permit: RateLimiterPermit,
  failure: Failure | undefined,
  { outage }: BatchJob,
  permitHold: PermitHold,
): void {
  const isDown = failure !== undefined && outage.isEnabled && isConnectFailure(failure);
  const isLimited = failure?.code === 'limited' || failure?.code === 'unreachable';
  if (isDown) outage.onFailedConnect(failure);
  else outage.onConnected();
  permit.release(isDown ? 'down' : isLimited ? 'limited' : 'ok', failure?.facts.retryAfter, permitHold);
}

// While the service is down, a line waits for it: it is not the line that failed.
async function waitOutOutages(
  attempt: () => Promise<Outcome>,
  { outage }: BatchJob,
  permitHold: PermitHold,
): Promise<Outcome> {
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      if (outage.canWait(error)) {
        permitHold.end();
        continue;
      }
      throw outage.stopReason() === undefined || !isConnectFailure(error) ? error : notSentFailure();
    }
  }
}

// A line that waits for its turn was not sent in this run.
function notSentFailure(): Failure {
  return new Failure('interrupted', 'not sent', { applied: 'no', isPermanent: true });
}
