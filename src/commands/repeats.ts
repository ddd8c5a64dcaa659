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
    random: () => (runtime.randomBytes(1)[0] ?? 0) / 255,
    wait: (milliseconds) => pause(milliseconds, runtime, signal),
    tell: (failure, repeat, milliseconds) =>
      report.note(`${briefly(failure)}; trying again in ${(milliseconds / 1000).toFixed(1)} s (${repeat} of ${most})`),
  };
}

// What a service says of itself may be long, and is told at the end.
function briefly({ message, facts }: Failure): string {
  return facts.status === undefined ? message : message.replace(/:.*/s, '');
}

function pause(milliseconds: number, { after }: Runtime, signal: AbortSignal): Promise<void> {
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
