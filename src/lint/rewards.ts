import { compareNumbers } from '../json/number.ts';

/**
 * What is known of some rewards. `least` and `greatest` are exact, as they are written: compared digit by digit, never
 * as doubles. `mean` and `squares` (of the distances from it, summed) are doubles, good to about 15 digits, of the
 * `finite` rewards that a double can hold.
 */
export interface Rewards {
  count: number;
  least: string;
  greatest: string;
  finite: number;
  mean: number;
  squares: number;
}

/** Rewards of which there are none yet. */
export function noRewards(): Rewards {
  return { count: 0, least: '', greatest: '', finite: 0, mean: 0, squares: 0 };
}

/** Adds a reward as it is written. */
export function addReward(rewards: Rewards, text: string): void {
  rewards.count += 1;
  if (rewards.count === 1) {
    rewards.least = text;
    rewards.greatest = text;
  } else if (text !== rewards.least && text !== rewards.greatest) {
    if (compareNumbers(text, rewards.least) < 0) rewards.least = text;
    else if (compareNumbers(text, rewards.greatest) > 0) rewards.greatest = text;
  }
  const value = Number(text);
  if (!Number.isFinite(value)) return;
  rewards.finite += 1;
  // Welford's way, in which close rewards far from zero do not cancel out.
  const before = value - rewards.mean;
  rewards.mean += before / rewards.finite;
  rewards.squares += before * (value - rewards.mean);
}

/** The standard deviation of rewards, of all of them and not of a sample; a double. */
export function spreadOf({ finite, squares }: Rewards): number {
  return finite === 0 ? 0 : Math.sqrt(squares / finite);
}

/** How far apart rewards are: `equal` to the last digit, `rounded` where they are so only as doubles, or different. */
export function variance({ least, greatest }: Rewards): 'equal' | 'rounded' | 'different' {
  if (least === greatest || compareNumbers(least, greatest) === 0) return 'equal';
  return Number(least) === Number(greatest) ? 'rounded' : 'different';
}
