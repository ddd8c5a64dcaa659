/** A distribution in bounded memory. Percentiles are exact for up to 10,000 distinct values, and within 2 % for more. */
export interface Distribution {
  readonly add: (value: number) => void;
  readonly count: () => number;
  readonly sum: () => number;
  readonly max: () => number;
  /** The value that `percent` of all values do not exceed; 0 without values. */
  readonly percentile: (percent: number) => number;
  /** Bars of equal width from 0 to the maximum; none without values. */
  readonly bars: (barCount: number) => readonly DistributionBar[];
}

/** The number of values from a lower bound (inclusive) to an upper bound (exclusive). */
export interface DistributionBar {
  readonly from: number;
  readonly to: number;
  readonly count: number;
}

const MAX_EXACT_VALUES = 10_000;
const BUCKET_RATIO = Math.log(1.02);

/** An empty distribution; values are 0 or more. */
export function createDistribution(): Distribution {
  // The keys are values while there are few of them, and bucket numbers after that.
  let counts = new Map<number, number>();
  let isExact = true;
  let count = 0;
  let sum = 0;
  let max = 0;
  const countValue = (value: number, times: number): void => {
    const key = isExact ? value : bucketOf(value);
    counts.set(key, (counts.get(key) ?? 0) + times);
  };
  const values = (): [value: number, count: number][] =>
    [...counts].map(([key, times]) => [isExact ? key : Math.min(max, bucketValue(key)), times]);
  return {
    add: (value) => {
      countValue(value, 1);
      count += 1;
      sum += value;
      max = Math.max(max, value);
      if (!isExact || counts.size <= MAX_EXACT_VALUES) return;
      const exactCounts = counts;
      isExact = false;
      counts = new Map();
      for (const [exactValue, times] of exactCounts) countValue(exactValue, times);
    },
    count: () => count,
    sum: () => sum,
    max: () => max,
    percentile: (percent) => {
      let remaining = Math.max(1, Math.ceil((count * percent) / 100));
      for (const [value, times] of values().sort(([left], [right]) => left - right)) {
        remaining -= times;
        if (remaining <= 0) return value;
      }
      return 0;
    },
    bars: (barCount) => {
      if (count === 0) return [];
      const width = Math.max(1, Math.ceil((max + 1) / barCount));
      const totals = new Array<number>(Math.ceil((max + 1) / width)).fill(0);
      for (const [value, times] of values()) {
        const bar = Math.floor(value / width);
        totals[bar] = (totals[bar] ?? 0) + times;
      }
      return totals.map((total, at) => ({ from: at * width, to: (at + 1) * width, count: total }));
    },
  };
}

function bucketOf(value: number): number {
  return Math.round(Math.log1p(value) / BUCKET_RATIO);
}

function bucketValue(bucket: number): number {
  return Math.round(Math.expm1(bucket * BUCKET_RATIO));
}
