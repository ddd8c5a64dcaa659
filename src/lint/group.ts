import type { Place } from '../trajectories/place.ts';
import type { Kind } from './kinds.ts';
import { addReward, noRewards, type Rewards, variance } from './rewards.ts';

/** What is known of a group so far; small, because there may be many at a time. */
export interface Group {
  readonly index: number;
  readonly label: string;
  readonly place: Place;
  count: number;
  readonly rewards: Rewards;
  /** Those of its first trajectory. */
  tools: string;
  hasMixedTools: boolean;
}

/** A group of which no trajectory has come; `index` is its place among all groups. */
export function newGroup(index: number, label: string, place: Place): Group {
  return { index, label, place, count: 0, rewards: noRewards(), tools: '', hasMixedTools: false };
}

/** Adds a trajectory to its group. */
export function addTo(group: Group, reward: string | undefined, tools: string): void {
  if (group.count === 0) group.tools = tools;
  else if (tools !== group.tools) group.hasMixedTools = true;
  group.count += 1;
  if (reward !== undefined) addReward(group.rewards, reward);
}

/** What there is to say about a group that is complete. */
export function remarksOn({ count, rewards, hasMixedTools }: Group): [kind: Kind, message: string][] {
  const remarks: [Kind, string][] = [];
  if (count === 0) remarks.push(['empty-group', 'has no trajectories']);
  if (count === 1) remarks.push(['single-trajectory', 'has one trajectory, and nothing to compare it with']);
  if (rewards.count > 1) {
    const how = variance(rewards);
    const { count: rewarded, least, greatest } = rewards;
    if (how === 'equal') remarks.push(['zero-variance', `all ${rewarded} rewards are ${brief(least)}`]);
    if (how === 'rounded')
      remarks.push([
        'rounded-variance',
        `all ${rewarded} rewards are the same double, from ${brief(least)} to ${brief(greatest)}`,
      ]);
  }
  if (hasMixedTools) remarks.push(['mixed-tools', 'its trajectories had different tools']);
  return remarks;
}

const LONGEST = 40;

function brief(number: string): string {
  return number.length > LONGEST ? `${number.slice(0, LONGEST)}…` : number;
}
