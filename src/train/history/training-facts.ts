import type { Draft } from '../../body/draft.ts';
import { firstStringMember, itemsAt, rootOf } from '../../json/json-node.ts';
import type { BodyDigest } from '../stream/body-digest.ts';
import type { TrainingJob } from './training-job.ts';

/** The facts that identify a training job before it is sent. */
export type TrainingFacts = Omit<TrainingJob, 'target'>;

/** The number of groups and of trajectories. */
export interface TrajectoryCounts {
  readonly groupCount: () => number;
  readonly trajectoryCount: () => number;
}

/** The facts of a body with this digest; the draft holds everything but the counted trajectories. */
export function createTrainingFacts(
  { bytes, digest }: BodyDigest,
  { doc }: Draft,
  counts: TrajectoryCounts,
  files: readonly string[],
): TrainingFacts {
  const model = firstStringMember(rootOf(doc), 'model_id');
  return { bytes, digest, model, files, groups: counts.groupCount(), trajectories: counts.trajectoryCount() };
}

/** Counts the trajectories in a draft that holds the whole body. */
export function countTrajectories({ doc }: Draft): TrajectoryCounts {
  const groups = itemsAt(rootOf(doc), 'trajectory_groups');
  const sizes = groups.map((group) => itemsAt(group, 'trajectories').length);
  return { groupCount: () => groups.length, trajectoryCount: () => sizes.reduce((sum, size) => sum + size, 0) };
}
