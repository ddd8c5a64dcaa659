import { type Effect, Failure, InterruptedError, signalOfFailure } from '../errors.ts';
import { abortableDelay } from '../http/time-limits.ts';
import type { Runtime } from '../runtime.ts';
import type { Connection } from './connection.ts';
import type { SendHooks } from './request.ts';

/**
 * Makes attempts until one succeeds, none is left, the time is up, or a retry is not safe. Throws the Failure of the
 * attempt that was most likely applied, with what the last one adds: no later refusal takes back that an earlier one may
 * have been applied. For a request that only reads, it throws the last Failure.
 */
export async function withRetries<T>(
  attempt: () => Promise<T>,
  { effect, connection: { maxRetries } }: { effect: Effect; connection: Pick<Connection, 'maxRetries'> },
  remainingMs: () => number,
  { signal, waitSignal = signal, turn, onRetry }: Pick<SendHooks, 'signal' | 'waitSignal' | 'turn' | 'onRetry'>,
  { after, randomBytes }: Pick<Runtime, 'after' | 'randomBytes'>,
): Promise<T> {
  let worst: Failure | undefined;
  let last: Failure | undefined;
  let failedAttempts = 0;
  // A batch that stops sends no signal to the process: the failure of the attempts is the outcome.
  const isOutcome = (): boolean =>
    !signal.aborted && effect !== 'read' && worst !== undefined && appliedRankOf(worst) > 0;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      if (turn?.canWait(error)) continue;
      if (worst && last && signalOfFailure(error.code) && isOutcome()) throw combineFailures(worst, last, effect);
      failedAttempts += 1;
      last = error;
      worst = moreLikelyApplied(worst, error);
      const isLast = failedAttempts > maxRetries || !error.resend.isRetryable || turn?.canRetry(error) === false;
      const delayMs = isLast ? 0 : retryDelayMs(failedAttempts, error, (randomBytes(1)[0] ?? 0) / 255);
      if (isLast || delayMs >= remainingMs()) throw combineFailures(worst, error, effect);
      const { message, facts } = error;
      const wait = delayMs < 100 ? '' : ` in ${(delayMs / 1000).toFixed(1)} s`;
      await onRetry?.(`${facts.summary ?? message}; retrying${wait} (${failedAttempts} of ${maxRetries})`);
      try {
        await abortableDelay(delayMs, after, waitSignal);
      } catch (reason) {
        if (!(reason instanceof InterruptedError)) throw reason;
        const message = `${reason.message}; nothing was applied`;
        const interrupted = new Failure(reason.code, message, { applied: 'no', attempts: failedAttempts });
        throw combineFailures(worst, isOutcome() ? error : interrupted, effect);
      }
    }
  }
}

const appliedRank = { no: 0, unknown: 1, yes: 2 } as const;

function appliedRankOf({ facts: { applied = 'no' } }: Failure): number {
  return appliedRank[applied];
}

// The last of equals.
function moreLikelyApplied(worst: Failure | undefined, last: Failure): Failure {
  return worst && appliedRankOf(worst) > appliedRankOf(last) ? worst : last;
}

function combineFailures(worst: Failure, last: Failure, effect: Effect): Failure {
  if (effect === 'read' || moreLikelyApplied(worst, last) === last) return last;
  const { attempts, issues, hint, retryAfterMs } = last.facts;
  // A request to end the process is reported first.
  if (signalOfFailure(last.code))
    return new Failure(last.code, `${last.code}; before that: ${worst.message}`, { ...worst.facts, attempts });
  const hints = [worst.facts.hint, hint].filter((text) => text !== undefined);
  const facts = { attempts, issues, retryAfterMs, hint: hints.length > 0 ? hints.join('; ') : undefined };
  return worst.with(facts, `${worst.message}; the last attempt: ${last.message}`);
}

const INITIAL_BACKOFF_MS = 250;
const MAX_BACKOFF_MS = 20_000;

/** The wait for a retry: never less than the service asked for, and up to a bound that doubles from 250 ms to 20 s. */
export function retryDelayMs(retryNumber: number, { facts: { retryAfterMs = 0 } }: Failure, random: number): number {
  const boundMs = Math.min(MAX_BACKOFF_MS, INITIAL_BACKOFF_MS * 2 ** (retryNumber - 1));
  return retryAfterMs + Math.round(random * boundMs);
}
