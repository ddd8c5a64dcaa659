import { Failure, InterruptedError, signalOfFailure } from '../errors.ts';
import { abortableDelay } from '../http/time-limits.ts';
import type { Operation } from '../operations/operation.ts';
import type { Runtime } from '../runtime.ts';
import { type Connection, isIdempotent, type SendHooks } from './request.ts';

/**
 * Makes attempts until one succeeds, none is left, the time is up, or a retry is not safe. Throws the Failure of the
 * attempt that was most likely applied, with what the last one adds: no later refusal takes back that an earlier one may
 * have been applied. For a request that only reads, it throws the last Failure.
 */
export async function withRetries<T>(
  attempt: () => Promise<T>,
  { effect, connection: { maxRetries } }: RetriedRequest,
  remainingMs: () => number,
  { signal, waitSignal = signal, turn, onRetry }: Pick<SendHooks, 'signal' | 'waitSignal' | 'turn' | 'onRetry'>,
  { after, randomBytes }: Pick<Runtime, 'after' | 'randomBytes'>,
): Promise<T> {
  let worst: Failure | undefined;
  let failedAttempts = 0;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      if (turn?.canWait(error)) continue;
      failedAttempts += 1;
      worst = moreLikelyApplied(worst, error);
      const isLast = failedAttempts > maxRetries || !isRetryable(effect, error) || turn?.canRetry(error) === false;
      const delayMs = isLast ? 0 : retryDelayMs(failedAttempts, error, (randomBytes(1)[0] ?? 0) / 255);
      if (isLast || delayMs >= remainingMs()) throw combineFailures(worst, error, effect);
      const { message, facts } = error;
      const wait = delayMs < 100 ? '' : ` in ${(delayMs / 1000).toFixed(1)} s`;
      await onRetry?.(`${facts.summary ?? message}; retrying${wait} (${failedAttempts} of ${maxRetries})`);
      try {
        await abortableDelay(delayMs, after, waitSignal);
      } catch (reason) {
        if (!(reason instanceof InterruptedError)) throw reason;
        // A batch that stops sends no signal to the process: the failure of the attempts is the outcome.
        const isOutcome = !signal.aborted && effect !== 'read' && appliedRankOf(worst) > 0;
        throw combineFailures(worst, isOutcome ? error : interruptionFailure(reason, failedAttempts), effect);
      }
    }
  }
}

interface RetriedRequest extends Pick<Operation, 'effect'> {
  readonly connection: Pick<Connection, 'maxRetries'>;
}

const appliedRank = { no: 0, unknown: 1, yes: 2 } as const;

function appliedRankOf({ facts: { applied = 'no' } }: Failure): number {
  return appliedRank[applied];
}

// The last of equals.
function moreLikelyApplied(worst: Failure | undefined, last: Failure): Failure {
  return worst && appliedRankOf(worst) > appliedRankOf(last) ? worst : last;
}

function combineFailures(worst: Failure, last: Failure, effect: Operation['effect']): Failure {
  if (effect === 'read' || moreLikelyApplied(worst, last) === last) return last;
  const { attempts, issues, hint, retryAfter } = last.facts;
  // A request to end the process is reported first.
  if (signalOfFailure(last.code))
    return new Failure(last.code, `${last.code}; before that: ${worst.message}`, { ...worst.facts, attempts });
  const hints = [worst.facts.hint, hint].filter((text) => text !== undefined);
  const facts = { attempts, issues, retryAfter, hint: hints.length > 0 ? hints.join('; ') : undefined };
  return worst.with(facts, `${worst.message}; the last attempt: ${last.message}`);
}

function interruptionFailure({ code, message }: InterruptedError, attempts: number): Failure {
  return new Failure(code, `${message}; nothing was applied`, { applied: 'no', attempts });
}

// A longer wait is not a transient shortage (docs/servers.md): svc reports when to retry instead.
const MAX_RETRY_AFTER_MS = 60_000;

const INITIAL_BACKOFF_MS = 250;
const MAX_BACKOFF_MS = 20_000;

// Decided by the effect of the operation and by what is known about the attempt, never by the name of an error
// (docs/contract.md, section 7).
function isRetryable(effect: Operation['effect'], { code, facts }: Failure): boolean {
  const { status, phase, isPermanent, isTruncated, retryAfter = 0 } = facts;
  if (isPermanent || retryAfter > MAX_RETRY_AFTER_MS) return false;
  const isSafe = isIdempotent(effect);
  if (status === undefined) return phase === 'nothing' || (isSafe && phase !== undefined);
  if (effect === 'once') return status === 429;
  return code === 'rate_limited' || (isSafe && (isTruncated === true || (status >= 500 && status !== 501)));
}

/**
 * Milliseconds to wait before a retry: what the service asked for, never less, and a random part of a bound that doubles
 * from 250 ms to 20 s. `retryNumber` counts from 1; `random` is from 0 to 1.
 */
export function retryDelayMs(retryNumber: number, { facts: { retryAfter = 0 } }: Failure, random: number): number {
  const boundMs = Math.min(MAX_BACKOFF_MS, INITIAL_BACKOFF_MS * 2 ** (retryNumber - 1));
  return retryAfter + Math.round(random * boundMs);
}
