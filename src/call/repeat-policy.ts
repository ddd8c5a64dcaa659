import type { Failure } from '../errors.ts';
import type { Operation } from '../operations/operation.ts';
import { isHarmless } from './effect.ts';

// Longer than this is no passing shortage (SERVERS.md): the user is told when to come back instead.
const LONGEST_WAIT = 60_000;

// The bound below which the first wait is drawn doubles with every repeat, up to the largest.
const FIRST_BACKOFF = 250;
const LARGEST_BACKOFF = 20_000;

/**
 * True where a failed attempt may be repeated with the same bytes: decided by the effect of the operation and by what
 * is known of the attempt, never by the name of an error (PRODUCT.md section 7).
 */
export function mayRepeat(effect: Operation['effect'], { code, facts }: Failure): boolean {
  const { status, phase, isLasting, isCut, retryAfter = 0 } = facts;
  if (isLasting || retryAfter > LONGEST_WAIT) return false;
  const harmless = isHarmless(effect);
  if (status === undefined) return phase === 'nothing' || (harmless && phase !== undefined);
  if (effect === 'once') return status === 429;
  return code === 'limited' || (harmless && (isCut === true || (status >= 500 && status !== 501)));
}

/**
 * Milliseconds to wait before a repeat: what the service asked for, never less, and a random part of a bound that
 * doubles from 250 ms to 20 s. `repeat` counts from 1; `random` is from 0 to 1.
 */
export function waitBefore(repeat: number, { facts: { retryAfter = 0 } }: Failure, random: number): number {
  const bound = Math.min(LARGEST_BACKOFF, FIRST_BACKOFF * 2 ** (repeat - 1));
  return retryAfter + Math.round(random * bound);
}
