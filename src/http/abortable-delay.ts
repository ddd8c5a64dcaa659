import type { ExchangeSignal } from './exchange-signal.ts';
import type { StartTimer } from './time-limits.ts';

/** Waits. Throws the reason of the signal if that is aborted before the time is over. */
export function abortableDelay(
  delayMs: number,
  startTimer: StartTimer,
  signal: ExchangeSignal | undefined,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      cancelTimer();
      reject(signal?.reason);
    };
    const cancelTimer = startTimer(delayMs, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    if (signal?.aborted) onAbort();
    else signal?.addEventListener('abort', onAbort, { once: true });
  });
}
