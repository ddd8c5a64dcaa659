/** The number of values that are at least `from` and less than `to`. */
export interface HistogramBin {
  readonly from: number;
  readonly to: number;
  readonly count: number;
}

/** Counts values in bins whose width is a power of two; memory does not grow with the number of values. */
export interface Histogram {
  readonly add: (value: number) => void;
  /** Adjacent bins from the minimum to the maximum, at most `maxBins`. */
  readonly bins: (maxBins: number) => HistogramBin[];
}

// Narrow enough for any reward; bins widen as needed.
const MIN_BIN_WIDTH = 2 ** -40;
const MAX_BIN_COUNT = 1024;

/** An empty histogram. The order of values does not change the bins. */
export function createHistogram(): Histogram {
  let binned: BinnedCounts = { width: MIN_BIN_WIDTH, counts: new Map<number, number>() };
  return {
    add: (value) => {
      // Beyond this index, doubles cannot distinguish adjacent bins.
      while (!Number.isSafeInteger(binIndex(value, binned))) binned = doubleBinWidth(binned);
      const at = binIndex(value, binned);
      binned.counts.set(at, (binned.counts.get(at) ?? 0) + 1);
      while (binned.counts.size > MAX_BIN_COUNT) binned = doubleBinWidth(binned);
    },
    bins: (maxBins) => {
      let shown = binned;
      while (binExtent(shown).length > maxBins) shown = doubleBinWidth(shown);
      const { width, counts } = shown;
      const { first, length } = binExtent(shown);
      return Array.from({ length }, (_, index) => {
        const at = first + index;
        return { from: at * width, to: (at + 1) * width, count: counts.get(at) ?? 0 };
      });
    },
  };
}

interface BinnedCounts {
  readonly width: number;
  readonly counts: Map<number, number>;
}

// A tiny negative value would round to bin 0.
function binIndex(value: number, { width }: BinnedCounts): number {
  const at = Math.floor(value / width);
  return at === 0 && value < 0 ? -1 : at;
}

function doubleBinWidth({ width, counts }: BinnedCounts): BinnedCounts {
  const wideCounts = new Map<number, number>();
  for (const [at, count] of counts)
    wideCounts.set(Math.floor(at / 2), (wideCounts.get(Math.floor(at / 2)) ?? 0) + count);
  return { width: width * 2, counts: wideCounts };
}

function binExtent({ counts }: BinnedCounts): { first: number; length: number } {
  let [first, last] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const at of counts.keys()) {
    first = Math.min(first, at);
    last = Math.max(last, at);
  }
  return counts.size === 0 ? { first: 0, length: 0 } : { first, length: last - first + 1 };
}
