/** How many values lie from a bound, which counts, to another, which does not. */
export interface HistogramBin {
  readonly from: number;
  readonly to: number;
  readonly count: number;
}

/** Counts values in bars whose widths are a power of two; it holds few bars, however many values there are. */
export interface Histogram {
  readonly add: (value: number) => void;
  /** Neighbouring bars from the least value to the greatest, at most `most` of them. */
  readonly bins: (maxBins: number) => HistogramBin[];
}

// Narrow enough for any reward; wider ones come by themselves.
const MIN_BIN_WIDTH = 2 ** -40;
const MAX_BIN_COUNT = 1024;

/** A histogram without values. The same values in any order make the same bars. */
export function createHistogram(): Histogram {
  let binned: BinnedCounts = { width: MIN_BIN_WIDTH, counts: new Map<number, number>() };
  return {
    add: (value) => {
      // A bar further from zero than that could not be told from its neighbour.
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

// The least numbers below zero would be rounded to it.
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
