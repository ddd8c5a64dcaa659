/** A distribution of values in a fixed number of buckets: percentiles are within 2 % of the exact value. */
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

/** The number of values from a bound, which counts, to another, which does not. */
export interface DistributionBar {
  readonly from: number;
  readonly to: number;
  readonly count: number;
}

const BUCKET_RATIO = Math.log(1.02);

/** An empty distribution; values are 0 or more. */
export function createDistribution(): Distribution {
  const buckets = new Map<number, number>();
  let count = 0;
  let sum = 0;
  let max = 0;
  const bucketValue = (bucket: number): number => Math.min(max, Math.round(Math.expm1(bucket * BUCKET_RATIO)));
  return {
    add: (value) => {
      const bucket = Math.round(Math.log1p(value) / BUCKET_RATIO);
      buckets.set(bucket, (buckets.get(bucket) ?? 0) + 1);
      count += 1;
      sum += value;
      max = Math.max(max, value);
    },
    count: () => count,
    sum: () => sum,
    max: () => max,
    percentile: (percent) => {
      let remaining = Math.max(1, Math.ceil((count * percent) / 100));
      for (const bucket of [...buckets.keys()].sort((left, right) => left - right)) {
        remaining -= buckets.get(bucket) ?? 0;
        if (remaining <= 0) return bucketValue(bucket);
      }
      return 0;
    },
    bars: (barCount) => {
      if (count === 0) return [];
      const width = Math.max(1, Math.ceil((max + 1) / barCount));
      const counts = new Array<number>(Math.ceil((max + 1) / width)).fill(0);
      for (const [bucket, bucketCount] of buckets) {
        const bar = Math.floor(bucketValue(bucket) / width);
        counts[bar] = (counts[bar] ?? 0) + bucketCount;
      }
      return counts.map((barTotal, at) => ({ from: at * width, to: (at + 1) * width, count: barTotal }));
    },
  };
}
