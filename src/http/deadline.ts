/** One time limit over attempts, the waits between them and the response, on a monotonic clock. */
export interface Deadline {
  /** The limit in milliseconds; infinite for none. */
  readonly limitMs: number;
  /** Milliseconds that are left. */
  readonly remainingMs: () => number;
  /** The limit does not hold while svc waits for stdin to begin, which then calls `restart`. */
  readonly isDefault: boolean;
  /** Starts the time of a default limit again; a limit that the user set continues. */
  readonly restart: () => void;
}

/** No limit. */
export const noDeadline: Deadline = {
  limitMs: Number.POSITIVE_INFINITY,
  remainingMs: () => Number.POSITIVE_INFINITY,
  isDefault: true,
  restart: () => {},
};

/** A deadline `limitMs` from now; undefined is no limit. */
export function createDeadline(
  limitMs: number | undefined,
  { elapsed }: { readonly elapsed: () => number },
  isDefault = false,
): Deadline {
  if (limitMs === undefined) return noDeadline;
  let startedAt = elapsed();
  const restart = (): void => {
    if (isDefault) startedAt = elapsed();
  };
  return { limitMs, remainingMs: () => Math.max(0, startedAt + limitMs - elapsed()), isDefault, restart };
}
