import type { Failure } from '../errors.ts';
import type { Runtime } from '../runtime.ts';

/** A number from 0 to 1. */
export function randomFraction({ randomBytes }: Pick<Runtime, 'randomBytes'>): number {
  return (randomBytes(1)[0] ?? 0) / 255;
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

/** The line that announces a retry: `could not connect to URL (connection refused); retrying in 1.5 s (1 of 3)`. */
export function formatRetryMessage(failure: Failure, retryNumber: number, maxRetries: number, delayMs: number): string {
  const wait = delayMs < 100 ? '' : ` in ${(delayMs / 1000).toFixed(1)} s`;
  return `${shortMessage(failure)}; retrying${wait} (${retryNumber} of ${maxRetries})`;
}

function shortMessage({ message, facts: { summary } }: Failure): string {
  return summary ?? message;
}
