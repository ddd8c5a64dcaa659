/** One time limit over attempts, the waits between them and the response, on a monotonic clock. */
export interface Deadline {
  /** The limit in milliseconds; infinite for none. */
  readonly limitMs: number;
  /** Milliseconds that are left. */
  readonly remainingMs: () => number;
}

/** No limit. */
export const noDeadline: Deadline = {
  limitMs: Number.POSITIVE_INFINITY,
  remainingMs: () => Number.POSITIVE_INFINITY,
};

/** A deadline `limitMs` from now; undefined is no limit. */
export function createDeadline(limitMs: number | undefined, { elapsed }: { readonly elapsed: () => number }): Deadline {
  if (limitMs === undefined) return noDeadline;
  const at = elapsed() + limitMs;
  return { limitMs, remainingMs: () => Math.max(0, at - elapsed()) };
}
