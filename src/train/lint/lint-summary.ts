import { type GroupStats, groupFindings } from './group-stats.ts';
import { createHistogram, type Histogram } from './histogram.ts';
import { createLargestTrajectories, type LargestTrajectories } from './largest-trajectories.ts';
import { createLintFindings, type LintFindings } from './lint-findings.ts';
import { addReward, createRewardStats, type RewardStats, standardDeviation } from './reward-stats.ts';

/** What is known of all groups together; it stays small however many there are. */
export interface LintSummary {
  bytes: number;
  groups: number;
  trajectories: number;
  /** How many trajectories the smallest and the largest group have. */
  minPerGroup: number;
  maxPerGroup: number;
  /** Groups that nothing can be learned from: fewer than two rewards, or all the same. */
  untrainableGroups: number;
  /** The spreads within groups, added up. */
  deviationSum: number;
  readonly rewards: RewardStats;
  readonly histogram: Histogram;
  readonly largest: LargestTrajectories;
  readonly findings: LintFindings;
}

/** The summary of nothing. */
export function createLintSummary(): LintSummary {
  return {
    ...{
      bytes: 0,
      groups: 0,
      trajectories: 0,
      minPerGroup: Number.POSITIVE_INFINITY,
      maxPerGroup: 0,
      untrainableGroups: 0,
      deviationSum: 0,
    },
    rewards: createRewardStats(),
    histogram: createHistogram(),
    largest: createLargestTrajectories(),
    findings: createLintFindings(),
  };
}

/** Counts the reward of a trajectory. */
export function countReward({ rewards, histogram }: LintSummary, reward: string): void {
  addReward(rewards, reward);
  const value = Number(reward);
  if (Number.isFinite(value)) histogram.add(value);
}

/** Counts a group that is complete, and says what is wrong with it. `at` and `path` are where it begins. */
export function countGroup(summary: LintSummary, group: GroupStats, at: string, path: string): void {
  summary.minPerGroup = Math.min(summary.minPerGroup, group.count);
  summary.maxPerGroup = Math.max(summary.maxPerGroup, group.count);
  summary.deviationSum += standardDeviation(group.rewards);
  const findings = groupFindings(group);
  if (group.rewards.count < 2 || findings.some(([kind]) => untrainableKinds.has(kind))) summary.untrainableGroups += 1;
  for (const [kind, message] of findings) summary.findings.add(kind, () => ({ at, path, message }));
}

const untrainableKinds = new Set<string>(['zero-variance', 'rounded-variance']);
