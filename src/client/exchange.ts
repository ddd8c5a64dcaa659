import { requestedChoiceCount } from '../body/chat/streaming.ts';
import { Failure, toFailure } from '../errors.ts';
import type { Deadline } from '../http/deadline.ts';
import type { Response, Send } from '../http/message.ts';
import { firstStringMember, type JsonNode, rootOf } from '../json/json-node.ts';
import type { ParsedResponse } from '../results/show-response.ts';
import type { Runtime } from '../runtime.ts';
import type { JobOutcome } from '../train/history/training-job.ts';
import { factsWithoutResponse } from './failure.ts';
import { withMiddleware } from './open-transport.ts';
import { createHttpRequest, type SignedRequest } from './prepared-request.ts';
import type { RequestContext } from './request-context.ts';
import type { RequestObserver } from './request-observer.ts';
import { suspectResponseWarnings } from './response-warnings.ts';
import type { RetryBudget } from './retry-budget.ts';
import { abortableDelay, randomFraction } from './retry-delay.ts';
import { type AttemptResult, sendOnce } from './send-once.ts';
import { withRetries } from './with-retries.ts';

/** A successful exchange: a complete response, or the chunks of a stream, which can be read once. */
export type Outcome = {
  readonly response: Response;
  /** Signs that the response is for another request, or for a part of this one. */
  readonly warnings: readonly string[];
} & (
  | { readonly parsedResponse: ParsedResponse; readonly chunks: undefined }
  | { readonly parsedResponse: undefined; readonly chunks: AsyncIterable<JsonNode> }
);

/** The limits of an exchange, and what it is sent over. */
export interface ExchangeOptions {
  readonly send: Send;
  readonly runtime: Pick<Runtime, 'now' | 'elapsed' | 'after' | 'randomBytes'>;
  /** Ends everything, with its reason as the error. */
  readonly signal: AbortSignal;
  /** Ends the wait for a retry, but no request in flight; default: `signal`. */
  readonly waitSignal?: AbortSignal;
  /** Called when the first attempt may start: the deadline over attempts, waits and response. */
  readonly startDeadline: () => Deadline;
  readonly maxRetries: number;
  /** Default: as many as `maxRetries` allows. */
  readonly retryBudget?: RetryBudget;
  /** Waits until an attempt may start; the result is called when the attempt ends. */
  readonly acquirePermit?: () => Promise<(failure: Failure | undefined) => void>;
  /** Called when a response of the exchange may be for another request; see Request. */
  readonly onStrayData?: () => void;
}

/**
 * Sends a request with retries (docs/contract.md, "Retries") and classifies the response. Throws the Failure of the
 * attempt that was most likely applied. A response that breaks the interface is an outcome with a failure in it.
 */
export async function exchange(
  request: SignedRequest,
  requestContext: RequestContext,
  observer: RequestObserver,
  options: ExchangeOptions,
): Promise<Outcome> {
  const { send, runtime, signal, waitSignal = signal } = options;
  const streamController = requestContext.operation.streams ? new AbortController() : undefined;
  const httpRequest = createHttpRequest(
    request,
    streamController ? AbortSignal.any([signal, streamController.signal]) : signal,
    options.onStrayData,
  );
  let deadline: Deadline | undefined;
  const attempt = async (): Promise<AttemptResult> => {
    const releasePermit = await options.acquirePermit?.();
    let failure: Failure | undefined;
    try {
      if (!deadline) {
        await observer.onSend?.();
        deadline = options.startDeadline();
      }
      const sendWithMiddleware = withMiddleware(send, requestContext.progress, deadline, runtime, observer.onTrace);
      return await sendOnce(sendWithMiddleware, httpRequest, requestContext, observer, runtime);
    } catch (error) {
      if (error instanceof Failure) failure = error;
      throw error;
    } finally {
      releasePermit?.(failure);
    }
  };
  const attemptResult = await withRetries(attempt, requestContext, {
    maxRetries: options.maxRetries,
    budget: options.retryBudget,
    remainingMs: () => deadline?.remainingMs() ?? Number.POSITIVE_INFINITY,
    random: () => randomFraction(runtime),
    sleep: (delayMs) => abortableDelay(delayMs, runtime, waitSignal),
    onRetry: async (failure, retryNumber, delayMs) => observer.onRetry?.(failure, retryNumber, delayMs),
  }).catch(async (error: unknown) => {
    await observer.onOutcome?.(outcomeOfFailure(error, requestContext));
    throw error;
  });
  await observer.onOutcome?.(outcomeOfResponse(attemptResult, requestContext));
  const { response, parsedResponse } = attemptResult;
  const warnings = suspectResponseWarnings(attemptResult, requestContext);
  if (parsedResponse) return { response, warnings, parsedResponse, chunks: undefined };
  const { readStreamChunks } = await import('./stream-chunks.ts');
  const chunks = readStreamChunks(response, requestContext, {
    choices: requestedChoiceCount(rootOf(requestContext.draft.doc)),
    after: runtime.after,
    stop: () => streamController?.abort(),
  });
  return { response, warnings, parsedResponse: undefined, chunks };
}

// It was applied, even if the response breaks the interface.
function outcomeOfResponse({ parsedResponse }: AttemptResult, { operation }: RequestContext): JobOutcome {
  const id = parsedResponse?.doc && firstStringMember(rootOf(parsedResponse.doc), operation.result.member);
  return { applied: 'yes', exitCode: parsedResponse?.failure?.exitCode ?? 0, id };
}

// If the failure does not say, its phase decides.
function outcomeOfFailure(error: unknown, sent: RequestContext): JobOutcome {
  const { exitCode, facts } = toFailure(error);
  return { applied: facts.applied ?? factsWithoutResponse(sent).applied ?? 'unknown', exitCode, id: undefined };
}
