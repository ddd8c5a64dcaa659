import { formatJsonPath, type JsonPath } from '../../json/json-node.ts';
import { compareNumberLiterals } from '../../json/number-literal.ts';
import { formatPosition } from '../../json/utf8.ts';
import {
  createDistribution,
  createSpacedSample,
  type Distribution,
  type SpacedSample,
} from '../../results/distribution.ts';
import type { TextLocation } from '../stream/reader.ts';
import type { LintKind } from './lint-kinds.ts';

/**
 * Statistics of rewards. `min` and `max` are exact, as written, compared digit by digit. `mean` and `squaredDeviations` (a
 * sum) are doubles over the `finiteCount` rewards within the range of a double.
 */
export interface RewardStats {
  count: number;
  min: string;
  max: string;
  finiteCount: number;
  mean: number;
  squaredDeviations: number;
}

/** Statistics of no rewards. */
export function createRewardStats(): RewardStats {
  return { count: 0, min: '', max: '', finiteCount: 0, mean: 0, squaredDeviations: 0 };
}

/** Adds a reward as written. */
export function addReward(rewards: RewardStats, text: string): void {
  rewards.count += 1;
  if (rewards.count === 1) {
    rewards.min = text;
    rewards.max = text;
  } else if (text !== rewards.min && text !== rewards.max) {
    if (compareNumberLiterals(text, rewards.min) < 0) rewards.min = text;
    else if (compareNumberLiterals(text, rewards.max) > 0) rewards.max = text;
  }
  const value = Number(text);
  if (!Number.isFinite(value)) return;
  rewards.finiteCount += 1;
  // Welford's algorithm, which stays accurate for close rewards far from zero.
  // Halves, because the difference of two doubles can exceed the range of a double.
  const half = value / 2 - rewards.mean / 2;
  rewards.mean += 2 * (half / rewards.finiteCount);
  rewards.squaredDeviations += 2 * half * (value - rewards.mean);
}

/** The population standard deviation, a double. */
export function standardDeviation({ finiteCount, squaredDeviations }: RewardStats): number {
  return finiteCount === 0 ? 0 : Math.sqrt(squaredDeviations / finiteCount);
}

/** `equal`: all rewards are equal to the last digit; `rounded`: equal as doubles only. */
export function classifyVariance({ min, max }: RewardStats): 'equal' | 'rounded' | 'different' {
  if (min === max || compareNumberLiterals(min, max) === 0) return 'equal';
  return Number(min) === Number(max) ? 'rounded' : 'different';
}

/** True for a group with two rewards that differ as doubles. */
export function isTrainable({ rewards }: Pick<GroupStats, 'rewards'>): boolean {
  return rewards.count > 1 && classifyVariance(rewards) === 'different';
}

/** What the statistics need of a trajectory; the reward as written, if it is a number. */
export interface TrajectoryFacts {
  readonly reward: string | undefined;
  readonly policyVersion: number | undefined;
  /** Tokens with logprobs. */
  readonly tokens: number;
  readonly messages: number;
}

/** Statistics of a group so far; small, because many groups may be open at a time. */
export interface GroupStats {
  /** Its position among all groups, from 0. */
  readonly index: number;
  readonly label: string;
  readonly location: TextLocation;
  count: number;
  readonly rewards: RewardStats;
  /** The hash of the tools of its first trajectory. */
  tools: string;
  hasMixedTools: boolean;
}

/** Adds a trajectory to its group. */
export function addTrajectory(group: GroupStats, reward: string | undefined, tools: string): void {
  if (group.count === 0) group.tools = tools;
  else if (tools !== group.tools) group.hasMixedTools = true;
  group.count += 1;
  if (reward !== undefined) addReward(group.rewards, reward);
}

/** The findings of a complete group. */
function groupFindings({ count, rewards, hasMixedTools }: GroupStats): [kind: LintKind, message: string][] {
  const findings: [LintKind, string][] = [];
  if (count === 0) findings.push(['empty-group', 'has no trajectories']);
  if (count === 1)
    findings.push(['single-trajectory', 'has only one trajectory, so there is nothing to compare it with']);
  if (rewards.count > 1) {
    const subject = rewards.count === 2 ? 'both rewards' : `all ${rewards.count} rewards`;
    const [min, max] = [truncateText(rewards.min), truncateText(rewards.max)];
    const variance = classifyVariance(rewards);
    if (variance === 'equal') findings.push(['zero-variance', `${subject} are ${min}`]);
    if (variance === 'rounded')
      findings.push(['rounded-variance', `${subject} are the same double, from ${min} to ${max}`]);
  }
  if (hasMixedTools) findings.push(['mixed-tools', 'its trajectories have different tools']);
  return findings;
}

const MAX_TEXT_CHARS = 40;

/** A text for a message: at most 40 characters of it. */
export function truncateText(text: string): string {
  return text.length > MAX_TEXT_CHARS ? `${text.slice(0, MAX_TEXT_CHARS)}…` : text;
}

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
  readonly histogram: Distribution;
  /** Standard deviations of the groups with two or more rewards; the mean of a bin is its part of untrainable ones. */
  readonly deviations: Distribution;
  /** Rewards by the position of their trajectory, and by its policy version. */
  readonly byPosition: Distribution;
  readonly byPolicy: Distribution;
  /** Trajectories by their generated tokens, and by their messages. */
  readonly tokens: Distribution;
  readonly messages: Distribution;
  readonly groupSample: SpacedSample<GroupStats>;
  readonly largest: LargestTrajectories;
  readonly findings: LintFindings;
}

// As many as a chart shows.
const MAX_SAMPLED_GROUPS = 240;

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
    histogram: createDistribution(),
    deviations: createDistribution(),
    byPosition: createDistribution(1),
    byPolicy: createDistribution(1),
    tokens: createDistribution(1),
    messages: createDistribution(1),
    groupSample: createSpacedSample(MAX_SAMPLED_GROUPS),
    largest: createLargestTrajectories(),
    findings: createLintFindings(),
  };
}

/** Adds a trajectory of a group. */
export function countTrajectory(
  summary: LintSummary,
  { reward, policyVersion, tokens, messages }: TrajectoryFacts,
): void {
  const position = summary.trajectories;
  summary.trajectories += 1;
  summary.tokens.add(tokens);
  summary.messages.add(messages);
  if (reward === undefined) return;
  addReward(summary.rewards, reward);
  const value = Number(reward);
  if (!Number.isFinite(value)) return;
  summary.histogram.add(value);
  summary.byPosition.add(position, value);
  if (policyVersion !== undefined && Number.isFinite(policyVersion)) summary.byPolicy.add(policyVersion, value);
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
  if (!isTrainable(group)) summary.untrainableGroups += 1;
  const { count, finiteCount } = group.rewards;
  const deviation = standardDeviation(group.rewards);
  // Of the largest doubles, it exceeds the range of a double.
  if (finiteCount > 0 && finiteCount === count && Number.isFinite(deviation)) {
    summary.groupSample.add(() => group);
    if (count > 1) summary.deviations.add(deviation, isTrainable(group) ? 0 : 1);
  }
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
