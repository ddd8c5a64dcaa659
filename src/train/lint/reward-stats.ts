import { compareNumberLiterals } from '../../json/number-literal.ts';

/**
 * What is known of some rewards. `least` and `greatest` are exact, as they are written: compared digit by digit, never
 * as doubles. `mean` and `squares` (of the distances from it, summed) are doubles, good to about 15 digits, of the
 * `finite` rewards that a double can hold.
 */
export interface RewardStats {
  count: number;
  min: string;
  max: string;
  finiteCount: number;
  mean: number;
  squaredDeviations: number;
}

/** Rewards of which there are none yet. */
export function createRewardStats(): RewardStats {
  return { count: 0, min: '', max: '', finiteCount: 0, mean: 0, squaredDeviations: 0 };
}

/** Adds a reward as it is written. */
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
  // Welford's way, in which close rewards far from zero do not cancel out.
  const deviation = value - rewards.mean;
  rewards.mean += deviation / rewards.finiteCount;
  rewards.squaredDeviations += deviation * (value - rewards.mean);
}

/** The standard deviation of rewards, of all of them and not of a sample; a double. */
export function standardDeviation({ finiteCount, squaredDeviations }: RewardStats): number {
  return finiteCount === 0 ? 0 : Math.sqrt(squaredDeviations / finiteCount);
}

/** How far apart rewards are: `equal` to the last digit, `rounded` where they are so only as doubles, or different. */
export function classifyVariance({ min, max }: RewardStats): 'equal' | 'rounded' | 'different' {
  if (min === max || compareNumberLiterals(min, max) === 0) return 'equal';
  return Number(min) === Number(max) ? 'rounded' : 'different';
}
