import type { JsonNode } from '../json/node.ts';
import type { Checks } from '../trajectories/checks.ts';
import type { Passing } from '../trajectories/passing.ts';
import { UnreadableText } from '../trajectories/unreadable-text.ts';
import { withoutNotNumbers } from './not-numbers.ts';

/** A trajectory that was judged, as it is on its way. */
export interface Seen {
  readonly root: JsonNode;
  /** The offsets of what is no number in it; there it reads as 0. */
  readonly notNumbers: readonly number[];
  /** Why it is no JSON all the same. */
  readonly problem: UnreadableText | undefined;
}

/** Has a trajectory judged, also one that is no JSON only because of NaN or Infinity in it. Throws UnreadableText for others. */
export function seen(passing: Passing & { readonly kind: 'trajectory' }, label: string, checks: Checks): Seen {
  try {
    return { root: checks.seeTrajectory(passing, label), notNumbers: [], problem: undefined };
  } catch (error) {
    if (!(error instanceof UnreadableText)) throw error;
    const mended = withoutNotNumbers(passing.bytes);
    if (!mended) throw error;
    return {
      root: checks.seeTrajectory({ ...passing, bytes: mended.bytes }, label),
      notNumbers: mended.offsets,
      problem: error,
    };
  }
}
