import { Failure, InterruptedError, signalOfFailure } from '../errors.ts';
import type { Operation } from '../operations/operation.ts';
import { isIdempotent } from './idempotency.ts';
import type { RequestContext } from './request-context.ts';
import type { RetryBudget } from './retry-budget.ts';

/** How attempts are repeated. */
export interface RetryOptions {
  /** The most repeats after the first attempt. */
  readonly maxRetries: number;
  readonly budget: RetryBudget | undefined;
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
      budget?.refund();
      return result;
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      failure = mostLikelyApplied(failure, error);
      if (attemptNumber > maxRetries || !isRetryable(effect, error)) throw failure;
      const delayMs = retryDelayMs(attemptNumber, error, random());
      if (delayMs >= remainingMs() || budget?.trySpend() === false) throw failure;
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

// A longer wait is not a transient shortage (docs/servers.md): svc reports when to retry instead.
const MAX_RETRY_AFTER_MS = 60_000;

// The bound below which the first wait is drawn doubles with every repeat, up to the largest.
const INITIAL_BACKOFF_MS = 250;
const MAX_BACKOFF_MS = 20_000;

/**
 * True where a failed attempt may be repeated with the same bytes: decided by the effect of the operation and by what
 * is known of the attempt, never by the name of an error (docs/contract.md, section 7).
 */
function isRetryable(effect: Operation['effect'], { code, facts }: Failure): boolean {
  const { status, phase, isPermanent, isTruncated, retryAfter = 0 } = facts;
  if (isPermanent || retryAfter > MAX_RETRY_AFTER_MS) return false;
  const isSafe = isIdempotent(effect);
  if (status === undefined) return phase === 'nothing' || (isSafe && phase !== undefined);
  if (effect === 'once') return status === 429;
  return code === 'limited' || (isSafe && (isTruncated === true || (status >= 500 && status !== 501)));
}

/**
 * Milliseconds to wait before a repeat: what the service asked for, never less, and a random part of a bound that
 * doubles from 250 ms to 20 s. `repeat` counts from 1; `random` is from 0 to 1.
 */
export function retryDelayMs(retryNumber: number, { facts: { retryAfter = 0 } }: Failure, random: number): number {
  const boundMs = Math.min(MAX_BACKOFF_MS, INITIAL_BACKOFF_MS * 2 ** (retryNumber - 1));
  return retryAfter + Math.round(random * boundMs);
}
