import type { Context } from '../context.ts';
import type { Failure } from '../errors.ts';
import type { Deadline } from '../http/deadline.ts';
import type { Runtime } from '../runtime.ts';
import { createRetryBudget } from './retry-budget.ts';
import type { RetryOptions } from './with-retries.ts';

/** How the attempts of one command are repeated: at most so often, before the deadline, with a line on stderr for each. */
export function createRetryOptions(
  maxRetries: number,
  { remainingMs }: Deadline,
  { runtime, report, signal }: Context,
): RetryOptions {
  return {
    maxRetries,
    budget: createRetryBudget(),
    remainingMs,
    random: () => randomFraction(runtime),
    sleep: (milliseconds) => abortableDelay(milliseconds, runtime, signal),
    onRetry: (failure, repeat, milliseconds) =>
      report.note(formatRetryMessage(failure, repeat, maxRetries, milliseconds)),
  };
}

/** A number from 0 to 1. */
export function randomFraction({ randomBytes }: Pick<Runtime, 'randomBytes'>): number {
  return (randomBytes(1)[0] ?? 0) / 255;
}

/** That an attempt failed and will be repeated. */
export function formatRetryMessage(failure: Failure, retryNumber: number, maxRetries: number, delayMs: number): string {
  return `${shortMessage(failure)}; trying again in ${(delayMs / 1000).toFixed(1)} s (${retryNumber} of ${maxRetries})`;
}

// What a service says of itself may be long, and is told at the end.
function shortMessage({ message, facts }: Failure): string {
  return facts.status === undefined ? message : message.replace(/:.*/s, '');
}

/** Waits so many milliseconds. Throws the reason of the signal when that is aborted before. */
export function abortableDelay(delayMs: number, { after }: Pick<Runtime, 'after'>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      cancelTimer();
      reject(signal.reason);
    };
    const cancelTimer = after(delayMs, () => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    });
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
}
