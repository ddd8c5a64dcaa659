import type { TextLocation } from '../stream/text-location.ts';
import { formatLocation, formatTrajectoryPath } from './format-location.ts';
import { createGroupStats, type GroupStats, groupFindings } from './group-stats.ts';
import { createHistogram, type Histogram } from './histogram.ts';
import { createLargestTrajectories, type LargestTrajectories } from './largest-trajectories.ts';
import { createLintFindings, type LintFindings } from './lint-findings.ts';
import { addReward, createRewardStats, type RewardStats, standardDeviation } from './reward-stats.ts';

/** Statistics of all groups; memory does not grow with their number. */
export interface LintSummary {
  bytes: number;
  groups: number;
  trajectories: number;
  /** The groups that were read to their end, and the trajectories in them: the text may be cut in the last one. */
  completeGroups: number;
  groupedTrajectories: number;
  /** Trajectories in the smallest and in the largest of them. */
  minPerGroup: number;
  maxPerGroup: number;
  /** Groups without a training signal: fewer than two rewards, or all equal. */
  untrainableGroups: number;
  /** The complete groups with finite rewards, and the sum of the standard deviations within them. */
  rewardedGroups: number;
  deviationSum: number;
  readonly rewards: RewardStats;
  readonly histogram: Histogram;
  readonly largest: LargestTrajectories;
  readonly findings: LintFindings;
}

/** An empty summary. */
export function createLintSummary(): LintSummary {
  return {
    ...{
      bytes: 0,
      groups: 0,
      trajectories: 0,
      completeGroups: 0,
      groupedTrajectories: 0,
      minPerGroup: Number.POSITIVE_INFINITY,
      maxPerGroup: 0,
      untrainableGroups: 0,
      rewardedGroups: 0,
      deviationSum: 0,
    },
    rewards: createRewardStats(),
    histogram: createHistogram(),
    largest: createLargestTrajectories(),
    findings: createLintFindings(),
  };
}

/** Adds the reward of a trajectory. */
export function countReward({ rewards, histogram }: LintSummary, reward: string): void {
  addReward(rewards, reward);
  const value = Number(reward);
  if (Number.isFinite(value)) histogram.add(value);
}

/** The groups that may still get trajectories: the current one, or all with `--group-by`. */
export interface OpenGroups {
  /** The group with an index; if it is not open, it starts at that location. */
  readonly getOrOpen: (index: number, label: string, location: TextLocation) => GroupStats;
  /** Adds all open groups to the summary. */
  readonly closeAll: () => void;
  /** Drops all open groups, because they are incomplete. */
  readonly discardAll: () => void;
}

/** No open groups; closed ones are added to the summary. */
export function createOpenGroups(summary: LintSummary): OpenGroups {
  const groupsByIndex = new Map<number, GroupStats>();
  return {
    getOrOpen: (index, label, location) => {
      const group = groupsByIndex.get(index) ?? createGroupStats(index, label, location);
      groupsByIndex.set(index, group);
      return group;
    },
    closeAll: () => {
      for (const group of groupsByIndex.values()) countGroup(summary, group);
      groupsByIndex.clear();
    },
    discardAll: () => groupsByIndex.clear(),
  };
}

// Adds a complete group and its findings.
function countGroup(summary: LintSummary, group: GroupStats): void {
  summary.completeGroups += 1;
  summary.groupedTrajectories += group.count;
  summary.minPerGroup = Math.min(summary.minPerGroup, group.count);
  summary.maxPerGroup = Math.max(summary.maxPerGroup, group.count);
  if (group.rewards.finiteCount > 0) summary.rewardedGroups += 1;
  summary.deviationSum += standardDeviation(group.rewards);
  const findings = groupFindings(group);
  if (group.rewards.count < 2 || findings.some(([kind]) => untrainableKinds.has(kind))) summary.untrainableGroups += 1;
  for (const [kind, message] of findings)
    summary.findings.add(kind, () => ({
      at: formatLocation(group.label, group.location),
      path: formatTrajectoryPath(group.index),
      message,
    }));
}

const untrainableKinds = new Set<string>(['zero-variance', 'rounded-variance']);
