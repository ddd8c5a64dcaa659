import { Failure, InterruptedError, signalOfFailure } from '../errors.ts';
import type { RequestContext } from './request-context.ts';
import type { RetryBudget } from './retry-budget.ts';
import { isRetryable, retryDelayMs } from './retry-policy.ts';

/** How attempts are repeated. */
export interface RetryOptions {
  /** The most repeats after the first attempt. */
  readonly maxRetries: number;
  readonly budget: RetryBudget;
  /** Milliseconds until the deadline over everything. */
  readonly remainingMs: () => number;
  /** From 0 to 1. */
  readonly random: () => number;
  /** Waits so many milliseconds. Throws what ends the command, such as Interrupted. */
  readonly sleep: (delayMs: number) => Promise<void>;
  /** Says that an attempt failed and will be repeated. */
  readonly onRetry: (failure: Failure, retryNumber: number, delayMs: number) => Promise<void>;
}

/**
 * Makes attempts until one succeeds, none is left, or repeating could do harm. Throws the Failure of the attempt that
 * was most likely applied: no later refusal takes back that an earlier one may have been.
 */
export async function withRetries<T>(
  attempt: () => Promise<T>,
  { effect }: RequestContext,
  options: RetryOptions,
): Promise<T> {
  const { maxRetries, budget, remainingMs, sleep, onRetry, random } = options;
  let failure: Failure | undefined;
  for (let attemptNumber = 1; ; attemptNumber += 1) {
    try {
      const result = await attempt();
      budget.refund();
      return result;
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      failure = mostLikelyApplied(failure, error);
      if (attemptNumber > maxRetries || !isRetryable(effect, error)) throw failure;
      const delayMs = retryDelayMs(attemptNumber, error, random());
      if (delayMs >= remainingMs() || !budget.trySpend()) throw failure;
      await onRetry(error, attemptNumber, delayMs);
      try {
        await sleep(delayMs);
      } catch (reason) {
        throw reason instanceof InterruptedError
          ? mostLikelyApplied(failure, interruptionFailure(reason, attemptNumber))
          : reason;
      }
    }
  }
}

const appliedRank = { no: 0, unknown: 1, yes: 2 } as const;

function mostLikelyApplied(earlier: Failure | undefined, last: Failure): Failure {
  const earlierApplied = earlier?.facts.applied ?? 'no';
  if (!earlier || appliedRank[earlierApplied] <= appliedRank[last.facts.applied ?? 'no']) return last;
  const facts = { ...earlier.facts, attempts: last.facts.attempts };
  // A request to end the process is reported first.
  if (signalOfFailure(last.code)) return new Failure(last.code, `${last.code}; before that: ${earlier.message}`, facts);
  return new Failure(
    earlier.code,
    `${earlier.message}; the last attempt: ${last.facts.summary ?? last.message}`,
    facts,
  );
}

function interruptionFailure({ code, message }: InterruptedError, attempts: number): Failure {
  return new Failure(code, `${message}; nothing was applied`, { applied: 'no', attempts });
}
