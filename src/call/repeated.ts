import { Failure, Interrupted } from '../errors.ts';
import type { Budget } from './budget.ts';
import { mayRepeat, waitBefore } from './repeat-policy.ts';
import type { Sent } from './sent.ts';

/** How attempts are repeated. */
export interface Repeats {
  /** The most repeats after the first attempt. */
  readonly most: number;
  readonly budget: Budget;
  /** Milliseconds until the deadline over everything. */
  readonly left: () => number;
  /** From 0 to 1. */
  readonly random: () => number;
  /** Waits so many milliseconds. Throws what ends the command, such as Interrupted. */
  readonly wait: (milliseconds: number) => Promise<void>;
  /** Says that an attempt failed and will be repeated. */
  readonly tell: (failure: Failure, repeat: number, milliseconds: number) => Promise<void>;
}

/**
 * Makes attempts until one succeeds, none is left, or repeating could do harm. Throws the Failure of the attempt that
 * was most likely applied: no later refusal takes back that an earlier one may have been.
 */
export async function repeated<T>(attempt: () => Promise<T>, { effect }: Sent, repeats: Repeats): Promise<T> {
  const { most, budget, left, wait, tell, random } = repeats;
  let verdict: Failure | undefined;
  for (let number = 1; ; number += 1) {
    try {
      const result = await attempt();
      budget.earn();
      return result;
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      verdict = covering(verdict, error);
      if (number > most || !mayRepeat(effect, error)) throw verdict;
      const pause = waitBefore(number, error, random());
      if (pause >= left() || !budget.pay()) throw verdict;
      await tell(error, number, pause);
      try {
        await wait(pause);
      } catch (stop) {
        throw stop instanceof Interrupted ? covering(verdict, interruption(stop, number)) : stop;
      }
    }
  }
}

const certainty = { no: 0, unknown: 1, yes: 2 } as const;

function covering(earlier: Failure | undefined, last: Failure): Failure {
  const before = earlier?.facts.applied ?? 'no';
  if (!earlier || certainty[before] <= certainty[last.facts.applied ?? 'no']) return last;
  const facts = { ...earlier.facts, attempts: last.facts.attempts };
  // Who asked the process to end is told that first.
  if (last.code === 'interrupted' || last.code === 'terminated')
    return new Failure(last.code, `${last.code}; before that: ${earlier.message}`, facts);
  return new Failure(earlier.code, `${earlier.message}; then: ${last.message}`, facts);
}

function interruption({ code, message }: Interrupted, attempts: number): Failure {
  return new Failure(code, `${message}; nothing was applied`, { applied: 'no', attempts });
}
