import { formatJsonPath, type JsonPath } from '../../json/json-node.ts';
import { formatPosition } from '../../json/utf8.ts';
import type { LintKind } from './lint-kinds.ts';
import {
  addReward,
  createHistogram,
  createRewardStats,
  type GroupStats,
  groupFindings,
  type Histogram,
  type RewardStats,
  standardDeviation,
} from './statistics.ts';

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

/** Adds a complete group and its findings. */
export function countGroup(summary: LintSummary, group: GroupStats): void {
  summary.completeGroups += 1;
  summary.groupedTrajectories += group.count;
  summary.minPerGroup = Math.min(summary.minPerGroup, group.count);
  summary.maxPerGroup = Math.max(summary.maxPerGroup, group.count);
  if (group.rewards.finiteCount > 0) summary.rewardedGroups += 1;
  summary.deviationSum += standardDeviation(group.rewards);
  const findings = groupFindings(group);
  if (group.rewards.count < 2 || findings.some(([kind]) => kind === 'zero-variance' || kind === 'rounded-variance'))
    summary.untrainableGroups += 1;
  for (const [kind, message] of findings)
    summary.findings.add(kind, () => ({
      at: formatPosition(group.label, group.location),
      path: formatJsonPath(['trajectory_groups', group.index]),
      message,
    }));
}

/** A likely mistake and its location. */
interface LintFinding {
  readonly kind: LintKind;
  /** `groups.jsonl:12:7`. */
  readonly at: string;
  /** `trajectory_groups[3].trajectories[17].reward`. */
  readonly path: string;
  readonly message: string;
}

/** Reports a finding in a trajectory, with the offset in its text and the path inside it. */
export type FindingCallback = (kind: LintKind, offset: number, path: JsonPath, message: string) => void;

/** Collects findings: the first 100 of each kind, and how many there are. */
export interface LintFindings {
  /** Calls `describe` only for findings that are kept. */
  readonly add: (kind: LintKind, describe: () => Omit<LintFinding, 'kind'>) => void;
  /** The kept findings of a kind, in the order they were found. */
  readonly examplesOf: (kind: LintKind) => readonly LintFinding[];
  readonly count: (kind: LintKind) => number;
}

// Enough to see what is wrong.
const MAX_EXAMPLES_PER_KIND = 100;

function createLintFindings(): LintFindings {
  const findingsByKind = new Map<LintKind, { count: number; readonly examples: LintFinding[] }>();
  return {
    add: (kind, describe) => {
      const same = findingsByKind.get(kind) ?? { count: 0, examples: [] };
      findingsByKind.set(kind, same);
      same.count += 1;
      if (same.count <= MAX_EXAMPLES_PER_KIND) same.examples.push({ kind, ...describe() });
    },
    examplesOf: (kind) => findingsByKind.get(kind)?.examples ?? [],
    count: (kind) => findingsByKind.get(kind)?.count ?? 0,
  };
}

interface SizedTrajectory {
  readonly at: string;
  readonly path: string;
  readonly bytes: number;
}

// The largest trajectories, largest first; of equal sizes, the earlier first.
interface LargestTrajectories {
  readonly all: readonly SizedTrajectory[];
  /** Calls `describe` only for a trajectory that is among them. */
  readonly add: (bytes: number, describe: () => Omit<SizedTrajectory, 'bytes'>) => void;
}

// Enough to spot an outlier.
const MAX_LARGEST_TRAJECTORIES = 5;

function createLargestTrajectories(): LargestTrajectories {
  const all: SizedTrajectory[] = [];
  return {
    all,
    add: (bytes, describe) => {
      const index = all.findLastIndex((one) => one.bytes >= bytes) + 1;
      if (index === MAX_LARGEST_TRAJECTORIES) return;
      all.splice(index, 0, { ...describe(), bytes });
      all.length = Math.min(all.length, MAX_LARGEST_TRAJECTORIES);
    },
  };
}
