/** One time limit over attempts, the waits between them and the response, on a monotonic clock. */
export interface Deadline {
  /** The limit in milliseconds; infinite for none. */
  readonly limitMs: number;
  /** Milliseconds that are left. */
  readonly remainingMs: () => number;
  /** Moves the deadline: time in which svc waits for input that has no time limit does not count. */
  readonly postpone: (milliseconds: number) => void;
}

/** No limit. */
export const noDeadline: Deadline = {
  limitMs: Number.POSITIVE_INFINITY,
  remainingMs: () => Number.POSITIVE_INFINITY,
  postpone: () => {},
};

/** A deadline `limitMs` from now; undefined is no limit. */
export function createDeadline(limitMs: number | undefined, { elapsed }: { readonly elapsed: () => number }): Deadline {
  if (limitMs === undefined) return noDeadline;
  let at = elapsed() + limitMs;
  const postpone = (milliseconds: number): void => {
    at += milliseconds;
  };
  return { limitMs, remainingMs: () => Math.max(0, at - elapsed()), postpone };
}
