import { compareNumberLiterals } from '../../json/number-literal.ts';
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
  const deviation = value - rewards.mean;
  rewards.mean += deviation / rewards.finiteCount;
  rewards.squaredDeviations += deviation * (value - rewards.mean);
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
export function groupFindings({ count, rewards, hasMixedTools }: GroupStats): [kind: LintKind, message: string][] {
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

/** The number of values that are at least `from` and less than `to`. */
export interface HistogramBin {
  readonly from: number;
  readonly to: number;
  readonly count: number;
}

/** Counts values in bins whose width is a power of two; memory does not grow with the number of values. */
export interface Histogram {
  readonly add: (value: number) => void;
  /** Adjacent bins from the minimum to the maximum, at most `maxBins`: bins widen as needed. */
  readonly bins: (maxBins: number) => HistogramBin[];
}

// Narrow enough for any reward.
const MIN_BIN_WIDTH = 2 ** -40;
const MAX_BIN_COUNT = 1024;

/** An empty histogram. The order of values does not change the bins. */
export function createHistogram(): Histogram {
  let width = MIN_BIN_WIDTH;
  let counts = new Map<number, number>();
  const addCount = (at: number, count: number): void => void counts.set(at, (counts.get(at) ?? 0) + count);
  const widenBins = (): void => {
    const narrowCounts = counts;
    counts = new Map();
    width *= 2;
    for (const [at, count] of narrowCounts) addCount(Math.floor(at / 2), count);
  };
  // A tiny negative value would round to bin 0.
  const binIndex = (value: number): number => {
    const at = Math.floor(value / width);
    return at === 0 && value < 0 ? -1 : at;
  };
  return {
    add: (value) => {
      // Beyond this index, doubles cannot distinguish adjacent bins.
      while (!Number.isSafeInteger(binIndex(value))) widenBins();
      addCount(binIndex(value), 1);
      while (counts.size > MAX_BIN_COUNT) widenBins();
    },
    bins: (maxBins) => {
      if (counts.size === 0) return [];
      for (;;) {
        const first = Math.min(...counts.keys());
        const length = Math.max(...counts.keys()) - first + 1;
        if (length <= maxBins)
          return Array.from({ length }, (_, index) => {
            const at = first + index;
            return { from: at * width, to: (at + 1) * width, count: counts.get(at) ?? 0 };
          });
        widenBins();
      }
    },
  };
}
