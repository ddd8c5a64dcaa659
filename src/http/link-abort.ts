/**
 * A new controller that a signal aborts with its reason, until `release` is called: the signal may live much longer.
 * `AbortSignal.any` does the same and takes five times as long.
 */
export function linkAbort(signal: AbortSignal | undefined): { controller: AbortController; release: () => void } {
  const controller = new AbortController();
  const stop = (): void => controller.abort(signal?.reason);
  if (signal?.aborted) stop();
  else signal?.addEventListener('abort', stop, { once: true });
  return { controller, release: () => signal?.removeEventListener('abort', stop) };
}
