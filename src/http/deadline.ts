/** One time limit over attempts, the waits between them and the answer, on the clock that never goes back. */
export interface Deadline {
  /** The whole time there is, in milliseconds; infinite without a limit. */
  readonly limitMs: number;
  /** Milliseconds until it is over. */
  readonly remainingMs: () => number;
}

/** No limit. */
export const noDeadline: Deadline = {
  limitMs: Number.POSITIVE_INFINITY,
  remainingMs: () => Number.POSITIVE_INFINITY,
};

/** A deadline so many milliseconds from now; without a number there is none. */
export function createDeadline(limitMs: number | undefined, { elapsed }: { readonly elapsed: () => number }): Deadline {
  if (limitMs === undefined) return noDeadline;
  const at = elapsed() + limitMs;
  return { limitMs, remainingMs: () => Math.max(0, at - elapsed()) };
}
