import { fullBudget } from '../call/budget.ts';
import type { Repeats } from '../call/repeated.ts';
import type { Context } from '../cli/context.ts';
import type { Failure } from '../errors.ts';
import type { Deadline } from '../http/deadline.ts';
import type { Runtime } from '../runtime.ts';

/** How the attempts of one command are repeated: at most so often, before the deadline, with a line on stderr for each. */
export function repeatsFor(most: number, { left }: Deadline, { runtime, report, signal }: Context): Repeats {
  return {
    most,
    budget: fullBudget(),
    left,
    random: () => chance(runtime),
    wait: (milliseconds) => pause(milliseconds, runtime, signal),
    tell: (failure, repeat, milliseconds) => report.note(againText(failure, repeat, most, milliseconds)),
  };
}

/** A number from 0 to 1. */
export function chance({ randomBytes }: Pick<Runtime, 'randomBytes'>): number {
  return (randomBytes(1)[0] ?? 0) / 255;
}

/** That an attempt failed and will be repeated. */
export function againText(failure: Failure, repeat: number, most: number, milliseconds: number): string {
  return `${briefly(failure)}; trying again in ${(milliseconds / 1000).toFixed(1)} s (${repeat} of ${most})`;
}

// What a service says of itself may be long, and is told at the end.
function briefly({ message, facts }: Failure): string {
  return facts.status === undefined ? message : message.replace(/:.*/s, '');
}

/** Waits so many milliseconds. Throws the reason of the signal when that is aborted before. */
export function pause(milliseconds: number, { after }: Pick<Runtime, 'after'>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      cancel();
      reject(signal.reason);
    };
    const cancel = after(milliseconds, () => {
      signal.removeEventListener('abort', stop);
      resolve();
    });
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
}
