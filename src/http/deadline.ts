/** One time limit over attempts, the waits between them and the answer, on the clock that never goes back. */
export interface Deadline {
  /** The whole time there is, in milliseconds; infinite without a limit. */
  readonly milliseconds: number;
  /** Milliseconds until it is over. */
  readonly left: () => number;
}

/** No limit. */
export const noDeadline: Deadline = {
  milliseconds: Number.POSITIVE_INFINITY,
  left: () => Number.POSITIVE_INFINITY,
};

/** A deadline so many milliseconds from now; without a number there is none. */
export function deadlineIn(
  milliseconds: number | undefined,
  { elapsed }: { readonly elapsed: () => number },
): Deadline {
  if (milliseconds === undefined) return noDeadline;
  const at = elapsed() + milliseconds;
  return { milliseconds, left: () => Math.max(0, at - elapsed()) };
}
