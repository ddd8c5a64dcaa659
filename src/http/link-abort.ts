/**
 * Links a new controller to a signal, which aborts it for its reason. `release` ends the link: it is called when nobody
 * listens any more, for the signal may live long. `AbortSignal.any` does the same and takes five times as long.
 */
export function linkAbort(signal: AbortSignal | undefined): { controller: AbortController; release: () => void } {
  const controller = new AbortController();
  const stop = (): void => controller.abort(signal?.reason);
  if (signal?.aborted) stop();
  else signal?.addEventListener('abort', stop, { once: true });
  return { controller, release: () => signal?.removeEventListener('abort', stop) };
}
