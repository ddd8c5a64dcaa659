import { type Findings, noFindings } from './findings.ts';
import { type Group, remarksOn } from './group.ts';
import { type Histogram, newHistogram } from './histogram.ts';
import { type Largest, largestOnes } from './largest.ts';
import { addReward, noRewards, type Rewards, spreadOf } from './rewards.ts';

/** What is known of all groups together; it stays small however many there are. */
export interface Summary {
  bytes: number;
  groups: number;
  trajectories: number;
  /** How many trajectories the smallest and the largest group have. */
  fewest: number;
  most: number;
  /** Groups that nothing can be learned from: fewer than two rewards, or all the same. */
  idle: number;
  /** The spreads within groups, added up. */
  spreads: number;
  readonly rewards: Rewards;
  readonly histogram: Histogram;
  readonly largest: Largest;
  readonly findings: Findings;
}

/** The summary of nothing. */
export function newSummary(): Summary {
  return {
    ...{ bytes: 0, groups: 0, trajectories: 0, fewest: Number.POSITIVE_INFINITY, most: 0, idle: 0, spreads: 0 },
    rewards: noRewards(),
    histogram: newHistogram(),
    largest: largestOnes(),
    findings: noFindings(),
  };
}

/** Counts the reward of a trajectory. */
export function countReward({ rewards, histogram }: Summary, reward: string): void {
  addReward(rewards, reward);
  const value = Number(reward);
  if (Number.isFinite(value)) histogram.add(value);
}

/** Counts a group that is complete, and says what is wrong with it. `at` and `path` are where it begins. */
export function countGroup(summary: Summary, group: Group, at: string, path: string): void {
  summary.fewest = Math.min(summary.fewest, group.count);
  summary.most = Math.max(summary.most, group.count);
  summary.spreads += spreadOf(group.rewards);
  const remarks = remarksOn(group);
  if (group.rewards.count < 2 || remarks.some(([kind]) => isIdle.has(kind))) summary.idle += 1;
  for (const [kind, message] of remarks) summary.findings.add(kind, () => ({ at, path, message }));
}

const isIdle = new Set<string>(['zero-variance', 'rounded-variance']);
