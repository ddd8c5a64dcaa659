/** The part of an AbortSignal that exchanges use. */
export interface ExchangeSignal {
  readonly aborted: boolean;
  readonly reason: unknown;
  readonly throwIfAborted: () => void;
  readonly addEventListener: (type: 'abort', listener: () => void, options?: { readonly once: true }) => void;
  readonly removeEventListener: (type: 'abort', listener: () => void) => void;
}

/** A signal of its own, which another one can abort. */
export interface LinkedSignal {
  readonly signal: ExchangeSignal;
  /** Aborts it; the first reason is kept. */
  readonly abort: (reason: unknown) => void;
  /** Ends the link: the other signal may live much longer. */
  readonly release: () => void;
}

/**
 * A new signal that `outer` aborts with its reason. For an exchange of a batch, an AbortController would take as long as
 * reading the response.
 */
export function linkSignal(outer: ExchangeSignal | undefined): LinkedSignal {
  const listeners = new Set<() => void>();
  const signal = {
    aborted: false,
    reason: undefined as unknown,
    throwIfAborted: () => {
      if (signal.aborted) throw signal.reason;
    },
    addEventListener: (_: 'abort', listener: () => void) => void listeners.add(listener),
    removeEventListener: (_: 'abort', listener: () => void) => void listeners.delete(listener),
  };
  const abort = (reason: unknown): void => {
    if (signal.aborted) return;
    signal.aborted = true;
    signal.reason = reason;
    for (const listener of listeners) listener();
  };
  const onOuterAbort = (): void => abort(outer?.reason);
  if (outer?.aborted) onOuterAbort();
  else outer?.addEventListener('abort', onOuterAbort, { once: true });
  return { signal, abort, release: () => outer?.removeEventListener('abort', onOuterAbort) };
}
