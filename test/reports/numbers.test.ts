import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createDistribution } from '../../src/reports/distribution.ts';
import {
  addReward,
  classifyVariance,
  createRewardStats,
  type RewardStats,
  standardDeviation,
} from '../../src/reports/lint/linter.ts';

function rewardsOf(texts: readonly string[]): RewardStats {
  const rewards = createRewardStats();
  for (const text of texts) addReward(rewards, text);
  return rewards;
}

describe('rewards', () => {
  it.each<[readonly string[], string, string, number, number]>([
    [['1'], '1', '1', 1, 0],
    [['0', '1'], '0', '1', 0.5, 0.5],
    [['1.10', '1.1'], '1.10', '1.10', 1.1, 0],
    [['1e400', '-1e400', '2'], '-1e400', '1e400', 2, 0],
    [['9007199254740993', '9007199254740992'], '9007199254740992', '9007199254740993', 9007199254740992, 0],
    // Close together and far from zero: the difference of squares would lose it.
    [['1000000000.1', '1000000000.2', '1000000000.3'], '1000000000.1', '1000000000.3', 1000000000.2, 0.0816496],
  ])('%j have extremes as written, mean and standard deviation', (texts, least, greatest, mean, spread) => {
    const rewards = rewardsOf(texts);
    expect([rewards.min, rewards.max]).toEqual([least, greatest]);
    expect(rewards.mean).toBeCloseTo(mean, 6);
    expect(standardDeviation(rewards)).toBeCloseTo(spread, 6);
  });

  it('near the limits of a double have a mean', () => {
    for (const texts of [
      ['-1.7e308', '1.7e308', '1.7e308'],
      ['1.7e308', '1.7e308', '-1.7e308'],
    ])
      expect(rewardsOf(texts).mean / 1.7e308).toBeCloseTo(1 / 3, 12);
  });

  it.each<[readonly string[], ReturnType<typeof classifyVariance>]>([
    [['1', '1.0', '0.1e1'], 'equal'],
    [['1e400', '10e399'], 'equal'],
    [['0.1', '0.10000000000000000001'], 'rounded'],
    [['1e400', '1e401'], 'rounded'],
    [['0.1', '0.2'], 'different'],
  ])('%j are %s', (texts, how) => {
    expect(classifyVariance(rewardsOf(texts))).toBe(how);
  });
});

describe('a histogram', () => {
  const barsOf = (values: readonly number[], most = 12) => {
    const histogram = createDistribution();
    for (const value of values) histogram.add(value);
    return histogram.bins(most);
  };

  it.each<[readonly number[], readonly [from: number, to: number, count: number][]]>([
    [[], []],
    [
      [0, 1, 1],
      [
        [0, 0.125, 1],
        ...[1, 2, 3, 4, 5, 6, 7].map((at): [number, number, number] => [at / 8, (at + 1) / 8, 0]),
        [1, 1.125, 2],
      ],
    ],
    [
      [-1e300, 1e300],
      [
        [-(2 ** 997), 0, 1],
        [0, 2 ** 997, 1],
      ],
    ],
  ])('of %j', (values, bars) => {
    const shown = barsOf(values).map(({ from, to, count }) => [from, to, count]);
    if (values[0] === -1e300) expect([shown.length <= 12, shown[0]?.[2], shown.at(-1)?.[2]]).toEqual([true, 1, 1]);
    else expect(shown).toEqual(bars);
  });

  it('counts every value once, in the right bin, in any order', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ noNaN: true, noDefaultInfinity: true }), { minLength: 1 }), (values) => {
        const bars = barsOf(values);
        expect(bars.length).toBeLessThanOrEqual(12);
        for (const { from, to, count } of bars)
          expect(values.filter((value) => value >= from && value < to)).toHaveLength(count);
        expect(bars.reduce((sum, { count }) => sum + count, 0)).toBe(values.length);
        expect(barsOf([...values].reverse())).toEqual(bars);
      }),
    );
  });
});
