import type { BodyRules, BrokenRule } from '../fields/finding.ts';
import { getMember, itemsAt, type JsonNode, kindOf, rawText } from '../json/json-node.ts';
import { compareNumberLiterals } from '../json/number-literal.ts';
import { pluralize } from '../json/pluralize.ts';

/** The kinds of findings of `svc train lint` in groups, and why each matters for training (docs/internals/servers.md). */
export const groupKinds = {
  'zero-variance': 'all rewards of a group are equal, so there is no training signal',
  'rounded-variance': 'rewards of a group differ, but are equal as doubles, which is how trainers read them',
  'single-trajectory': 'a group has only one trajectory, so there is no training signal',
  'no-groups': 'there is no group, so there is no training signal',
  'empty-group': 'a group has no trajectories',
} as const;

/** Warns of the groups in a body from which a trainer learns nothing, in the words of `svc train lint`. */
export const trainRules: BodyRules = (body) => {
  const counter = createGroupCounter();
  for (const group of itemsAt(body, 'trajectory_groups')) {
    const rewards = createGroupRewards();
    for (const trajectory of itemsAt(group, 'trajectories')) addTrajectoryReward(rewards, trajectory);
    counter.add(rewards);
  }
  return counter.brokenRules();
};

/** The rewards of a group so far; small, because many groups may be open at a time. */
export type GroupRewards = ReturnType<typeof createGroupRewards>;

export function createGroupRewards() {
  return { trajectories: 0, rewards: 0, first: '', isVaried: false, isRounded: false };
}

export function addTrajectoryReward(group: GroupRewards, trajectory: JsonNode): void {
  group.trajectories += 1;
  const reward = getMember(trajectory, 'reward');
  if (!reward || kindOf(reward) !== 'number') return;
  const text = rawText(reward);
  group.rewards += 1;
  if (group.rewards === 1) group.first = text;
  else if (Number(text) !== Number(group.first)) group.isVaried = true;
  else if (compareNumberLiterals(text, group.first) !== 0) group.isRounded = true;
}

export function createGroupCounter() {
  const counts = new Map<keyof typeof groupKinds, number>();
  let groups = 0;
  return {
    add: ({ trajectories, rewards, isVaried, isRounded }: GroupRewards): void => {
      groups += 1;
      const variance = rewards < 2 || isVaried ? [] : ([isRounded ? 'rounded-variance' : 'zero-variance'] as const);
      const size = trajectories > 1 ? [] : ([trajectories === 0 ? 'empty-group' : 'single-trajectory'] as const);
      for (const kind of [...variance, ...size]) counts.set(kind, (counts.get(kind) ?? 0) + 1);
    },
    brokenRules: (): BrokenRule[] =>
      Array.from(counts, ([kind, count]) => {
        const found = `${kind} (${count} of ${groups} ${pluralize(groups, 'group')})`;
        const message = `${found}: ${groupKinds[kind]}; svc train lint lists them`;
        return { path: ['trajectory_groups'], message, code: 'unwise' };
      }),
  };
}
