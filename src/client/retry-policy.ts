import type { Failure } from '../errors.ts';
import type { Operation } from '../operations/operation.ts';
import { isIdempotent } from './idempotency.ts';

// A longer wait is not a transient shortage (docs/servers.md): svc reports when to retry instead.
const MAX_RETRY_AFTER_MS = 60_000;

// The bound below which the first wait is drawn doubles with every repeat, up to the largest.
const INITIAL_BACKOFF_MS = 250;
const MAX_BACKOFF_MS = 20_000;

/**
 * True where a failed attempt may be repeated with the same bytes: decided by the effect of the operation and by what
 * is known of the attempt, never by the name of an error (docs/contract.md, section 7).
 */
export function isRetryable(effect: Operation['effect'], { code, facts }: Failure): boolean {
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
