import type { TextLocation } from '../stream/text-location.ts';
import type { LintKind } from './lint-kinds.ts';
import { addReward, classifyVariance, createRewardStats, type RewardStats } from './reward-stats.ts';

/** Statistics of a group so far; small, because many groups may be open at a time. */
export interface GroupStats {
  readonly index: number;
  readonly label: string;
  readonly location: TextLocation;
  count: number;
  readonly rewards: RewardStats;
  /** The hash of the tools of its first trajectory. */
  tools: string;
  hasMixedTools: boolean;
}

/** An empty group; `index` is its position among all groups, from 0. */
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

/** The findings of a complete group. */
export function groupFindings({ count, rewards, hasMixedTools }: GroupStats): [kind: LintKind, message: string][] {
  const findings: [LintKind, string][] = [];
  if (count === 0) findings.push(['empty-group', 'has no trajectories']);
  if (count === 1)
    findings.push(['single-trajectory', 'has only one trajectory, so there is nothing to compare it with']);
  if (rewards.count > 1) {
    const rewardVariance = classifyVariance(rewards);
    const { count: rewardCount, min, max } = rewards;
    const subject = rewardCount === 2 ? 'both rewards' : `all ${rewardCount} rewards`;
    if (rewardVariance === 'equal') findings.push(['zero-variance', `${subject} are ${truncateNumber(min)}`]);
    if (rewardVariance === 'rounded')
      findings.push([
        'rounded-variance',
        `${subject} are the same double, from ${truncateNumber(min)} to ${truncateNumber(max)}`,
      ]);
  }
  if (hasMixedTools) findings.push(['mixed-tools', 'its trajectories have different tools']);
  return findings;
}

const MAX_NUMBER_CHARS = 40;

function truncateNumber(number: string): string {
  return number.length > MAX_NUMBER_CHARS ? `${number.slice(0, MAX_NUMBER_CHARS)}…` : number;
}
