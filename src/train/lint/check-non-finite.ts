import type { JsonNode } from '../../json/json-node.ts';
import { InvalidTextError } from '../stream/invalid-text-error.ts';
import type { TrajectoryChecks } from '../stream/trajectory-checks.ts';
import type { TrajectoryEvent } from '../stream/trajectory-event.ts';
import { replaceNonFiniteNumbers } from './non-finite-numbers.ts';

/** A trajectory that was judged, as it is on its way. */
export interface CheckedTrajectory {
  readonly root: JsonNode;
  /** The offsets of what is no number in it; there it reads as 0. */
  readonly nonFiniteOffsets: readonly number[];
  /** Why it is no JSON all the same. */
  readonly syntaxError: InvalidTextError | undefined;
}

/** Has a trajectory judged, also one that is no JSON only because of NaN or Infinity in it. Throws UnreadableText for others. */
export function checkAllowingNonFinite(
  event: TrajectoryEvent & { readonly kind: 'trajectory' },
  label: string,
  checks: TrajectoryChecks,
): CheckedTrajectory {
  try {
    return { root: checks.checkTrajectory(event, label), nonFiniteOffsets: [], syntaxError: undefined };
  } catch (error) {
    if (!(error instanceof InvalidTextError)) throw error;
    const fixed = replaceNonFiniteNumbers(event.bytes);
    if (!fixed) throw error;
    return {
      root: checks.checkTrajectory({ ...event, bytes: fixed.bytes }, label),
      nonFiniteOffsets: fixed.offsets,
      syntaxError: error,
    };
  }
}
