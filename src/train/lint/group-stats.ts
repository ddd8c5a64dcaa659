import type { TextLocation } from '../stream/text-location.ts';
import type { LintKind } from './lint-kinds.ts';
import { addReward, classifyVariance, createRewardStats, type RewardStats } from './reward-stats.ts';

/** What is known of a group so far; small, because there may be many at a time. */
export interface GroupStats {
  readonly index: number;
  readonly label: string;
  readonly location: TextLocation;
  count: number;
  readonly rewards: RewardStats;
  /** Those of its first trajectory. */
  tools: string;
  hasMixedTools: boolean;
}

/** A group of which no trajectory has come; `index` is its place among all groups. */
export function createGroupStats(index: number, label: string, location: TextLocation): GroupStats {
  return { index, label, location, count: 0, rewards: createRewardStats(), tools: '', hasMixedTools: false };
}

/** Adds a trajectory to its group. */
export function addTrajectory(group: GroupStats, reward: string | undefined, tools: string): void {
  if (group.count === 0) group.tools = tools;
  else if (tools !== group.tools) group.hasMixedTools = true;
  group.count += 1;
  if (reward !== undefined) addReward(group.rewards, reward);
}

/** What there is to say about a group that is complete. */
export function groupFindings({ count, rewards, hasMixedTools }: GroupStats): [kind: LintKind, message: string][] {
  const findings: [LintKind, string][] = [];
  if (count === 0) findings.push(['empty-group', 'has no trajectories']);
  if (count === 1) findings.push(['single-trajectory', 'has one trajectory, and nothing to compare it with']);
  if (rewards.count > 1) {
    const rewardVariance = classifyVariance(rewards);
    const { count: rewardCount, min, max } = rewards;
    if (rewardVariance === 'equal')
      findings.push(['zero-variance', `all ${rewardCount} rewards are ${truncateNumber(min)}`]);
    if (rewardVariance === 'rounded')
      findings.push([
        'rounded-variance',
        `all ${rewardCount} rewards are the same double, from ${truncateNumber(min)} to ${truncateNumber(max)}`,
      ]);
  }
  if (hasMixedTools) findings.push(['mixed-tools', 'its trajectories had different tools']);
  return findings;
}

const MAX_NUMBER_CHARS = 40;

function truncateNumber(number: string): string {
  return number.length > MAX_NUMBER_CHARS ? `${number.slice(0, MAX_NUMBER_CHARS)}…` : number;
}
