import type { Draft } from '../../body/draft.ts';
import { itemsOf, type JsonNode, member, rootOf, stringIn } from '../../json/node.ts';
import type { Job } from '../../ledger/job.ts';
import type { Measure } from '../../trajectories/measured.ts';

/** What a training job is, before it is given away. */
export type TrainingFacts = Omit<Job, 'target'>;

/** How many groups and trajectories there are. */
export interface Counts {
  readonly groups: () => number;
  readonly trajectories: () => number;
}

/** The facts of a body that measures so much and of which the draft is all but the trajectories that are counted. */
export function factsOf(measure: Measure, { doc }: Draft, counts: Counts, files: readonly string[]): TrainingFacts {
  const model = stringIn(rootOf(doc), 'model_id');
  return { ...measure, model, files, groups: counts.groups(), trajectories: counts.trajectories() };
}

/** Counts the trajectories in a draft that is all of a body. */
export function countsIn({ doc }: Draft): Counts {
  const groups = listIn(rootOf(doc), 'trajectory_groups');
  const sizes = groups.map((group) => listIn(group, 'trajectories').length);
  return { groups: () => groups.length, trajectories: () => sizes.reduce((sum, size) => sum + size, 0) };
}

function listIn(node: JsonNode, name: string): JsonNode[] {
  const list = member(node, name);
  return list ? Array.from(itemsOf(list)) : [];
}
