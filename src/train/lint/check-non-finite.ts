import type { JsonNode } from '../../json/json-node.ts';
import { InvalidTextError } from '../stream/invalid-text-error.ts';
import type { TrajectoryChecks } from '../stream/trajectory-checks.ts';
import type { TrajectoryEvent } from '../stream/trajectory-event.ts';
import { replaceNonFiniteNumbers } from './non-finite-numbers.ts';

/** A checked trajectory. */
export interface CheckedTrajectory {
  readonly root: JsonNode;
  /** The offsets of NaN and Infinity in it, which read as 0. */
  readonly nonFiniteOffsets: readonly number[];
  /** Why it is not valid JSON. */
  readonly syntaxError: InvalidTextError | undefined;
}

/** Checks a trajectory, even if NaN or Infinity make it invalid JSON. Throws InvalidTextError for other invalid JSON. */
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
