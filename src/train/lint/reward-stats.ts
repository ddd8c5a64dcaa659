import { compareNumberLiterals } from '../../json/number-literal.ts';

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
