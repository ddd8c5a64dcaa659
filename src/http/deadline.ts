import { type After, LimitReached } from './limits.ts';

/** One time limit over attempts, the waits between them and the answer, on the clock that never goes back. */
export interface Deadline {
  /** Aborted with LimitReached at the deadline. */
  readonly signal: AbortSignal;
  /** Milliseconds until then; infinite without a limit. */
  readonly left: () => number;
  /** Takes the deadline back. */
  readonly end: () => void;
}

/** A deadline so many milliseconds from now; without a number there is none. */
export function deadlineIn(
  milliseconds: number | undefined,
  { after, elapsed }: { readonly after: After; readonly elapsed: () => number },
): Deadline {
  const controller = new AbortController();
  const { signal } = controller;
  if (milliseconds === undefined) return { signal, left: () => Number.POSITIVE_INFINITY, end: () => {} };
  const at = elapsed() + milliseconds;
  const end = after(milliseconds, () => controller.abort(new LimitReached('total', milliseconds)));
  return { signal, left: () => Math.max(0, at - elapsed()), end };
}
