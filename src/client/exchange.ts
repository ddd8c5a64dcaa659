import { Failure, toFailure } from '../errors.ts';
import type { Deadline } from '../http/deadline.ts';
import type { Request, Send } from '../http/message.ts';
import { firstStringMember, rootOf } from '../json/json-node.ts';
import type { Runtime } from '../runtime.ts';
import type { JobOutcome } from '../train/job-history.ts';
import { factsWithoutResponse } from './failure.ts';
import { withMiddleware } from './open-transport.ts';
import type { PreparedRequest } from './prepared-request.ts';
import type { RequestContext } from './request-context.ts';
import type { RequestObserver } from './request-observer.ts';
import { suspectResponseWarnings } from './response-warnings.ts';
import { type AttemptResult, sendOnce } from './send-once.ts';
import { type RetryOptions, withRetries } from './with-retries.ts';

/** A successful exchange: a complete response, or a stream of which the first chunk has arrived. */
export type Outcome = AttemptResult & {
  /** Signs that the response is for another request, or for a part of this one. */
  readonly warnings: readonly string[];
};

/** The limits of an exchange, and what it is sent over. `signal` ends everything, with its reason as the error. */
export interface ExchangeOptions extends RetryOptions {
  readonly send: Send;
  readonly runtime: Pick<Runtime, 'now' | 'elapsed' | 'after' | 'randomBytes'>;
  /** Called when the first attempt may start: the deadline over attempts, waits and response. */
  readonly startDeadline: () => Deadline;
  /** Decides when an attempt may start, and learns how it ended. */
  readonly turn?: AttemptTurn;
  /** Called when a response of the exchange may be for another request; see Request. */
  readonly onStrayData?: () => void;
}

/** The turns of a request among others. */
export interface AttemptTurn {
  /** Waits until an attempt may start. Throws the Failure of a request that is not to be sent. */
  readonly acquire: () => Promise<void>;
  readonly report: (failure: Failure | undefined) => void;
  /** False for a failure that is not worth a retry. */
  readonly canRetry: (failure: Failure) => boolean;
  /** True for a failure after which the request waits for a turn again, as if it had not been sent. */
  readonly canWait: (failure: Failure) => boolean;
}

/**
 * Sends a request with retries (docs/contract.md, section 7) and classifies the response. Throws the Failure of the
 * attempt that was most likely applied. A response that breaks the interface is an outcome with a failure in it.
 */
export async function exchange(
  { headers, body }: Pick<PreparedRequest, 'headers' | 'body'>,
  requestContext: RequestContext,
  observer: RequestObserver,
  options: ExchangeOptions,
): Promise<Outcome> {
  const { runtime } = options;
  const { progress, target } = requestContext;
  const { authorization } = target;
  const request: Request = {
    method: 'POST',
    url: target.url.href,
    headers: authorization ? [...headers, ['Authorization', authorization.value.reveal()]] : headers,
    body,
    // Set for each attempt: V8 replaces a member of a copy 20 times as fast as it adds one.
    onBodySent: undefined,
    signal: options.signal,
    onStrayData: options.onStrayData,
  };
  const { turn } = options;
  let deadline: Deadline | undefined;
  const attempt = async (): Promise<AttemptResult> => {
    await turn?.acquire();
    let failure: Failure | undefined;
    try {
      if (!deadline) {
        await observer.onSend?.();
        deadline = options.startDeadline();
      }
      const send = withMiddleware(options.send, progress, deadline, runtime, observer.onTrace);
      return await sendOnce(send, request, requestContext, observer, runtime);
    } catch (error) {
      if (error instanceof Failure) failure = error;
      throw error;
    } finally {
      turn?.report(failure);
    }
  };
  const attemptWhenUp = async (): Promise<AttemptResult> => {
    for (;;) {
      try {
        return await attempt();
      } catch (error) {
        if (!(error instanceof Failure) || turn?.canWait(error) !== true) throw error;
        // The time of the request starts when it may be sent, not while it waits for the service.
        deadline = undefined;
      }
    }
  };
  const remainingMs = (): number => deadline?.remainingMs() ?? Number.POSITIVE_INFINITY;
  let attemptResult: AttemptResult;
  try {
    attemptResult = await withRetries(attemptWhenUp, requestContext.effect, observer.onRetry, remainingMs, options);
  } catch (error) {
    await observer.onOutcome?.(outcomeOfFailure(error, requestContext));
    throw error;
  }
  await observer.onOutcome?.(outcomeOfResponse(attemptResult, requestContext));
  return { ...attemptResult, warnings: suspectResponseWarnings(attemptResult, requestContext) };
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
