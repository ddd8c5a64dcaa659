import { formatNumber } from '../output/transfer-text.ts';

/** The number of values from `from` (inclusive) to `to` (exclusive), and figures of the second values added with them. */
export interface Bin extends BinFigures {
  readonly from: number;
  readonly to: number;
}

interface BinFigures {
  count: number;
  mean: number;
  min: number;
  max: number;
}

/** Counts values in bins whose width is a power of two; memory does not grow with the number of values. */
export interface Bins {
  /** `y` is a second value whose mean, minimum and maximum each bin has. */
  readonly add: (x: number, y?: number) => void;
  /** Adjacent bins from the minimum to the maximum, at most `maxBins`. */
  readonly list: (maxBins: number) => Bin[];
}

// Narrow enough for any reward.
const MIN_BIN_WIDTH = 2 ** -40;
const MAX_BIN_COUNT = 1024;

/** No values yet. `minWidth` is a power of two: 1 for whole numbers. The order of values does not change the counts. */
export function createBins(minWidth = MIN_BIN_WIDTH): Bins {
  let width = minWidth;
  let bins = new Map<number, BinFigures>();
  const widenBins = (): void => {
    width *= 2;
    bins = mergePairs(bins);
  };
  // A tiny negative value would round to bin 0.
  const binIndex = (value: number): number => {
    const at = Math.floor(value / width);
    return at === 0 && value < 0 ? -1 : at;
  };
  return {
    add: (x, y = 0) => {
      // Beyond this index, doubles cannot distinguish adjacent bins.
      while (!Number.isSafeInteger(binIndex(x))) widenBins();
      addFigures(bins, binIndex(x), { count: 1, mean: y, min: y, max: y });
      while (bins.size > MAX_BIN_COUNT) widenBins();
    },
    list: (maxBins) => {
      if (bins.size === 0) return [];
      for (let merged = bins, mergedWidth = width; ; merged = mergePairs(merged), mergedWidth *= 2) {
        const first = Math.min(...merged.keys());
        const length = Math.max(...merged.keys()) - first + 1;
        if (length > maxBins) continue;
        return Array.from({ length }, (_, index) => ({
          from: (first + index) * mergedWidth,
          to: (first + index + 1) * mergedWidth,
          ...(merged.get(first + index) ?? { count: 0, mean: 0, min: 0, max: 0 }),
        }));
      }
    },
  };
}

function mergePairs(bins: ReadonlyMap<number, BinFigures>): Map<number, BinFigures> {
  const merged = new Map<number, BinFigures>();
  for (const [at, figures] of bins) addFigures(merged, Math.floor(at / 2), figures);
  return merged;
}

function addFigures(bins: Map<number, BinFigures>, at: number, { count, mean, min, max }: BinFigures): void {
  const bin = bins.get(at);
  if (!bin) return void bins.set(at, { count, mean, min, max });
  const total = bin.count + count;
  // Weighted, because the sum of large values overflows.
  bin.mean = bin.mean * (bin.count / total) + mean * (count / total);
  bin.count = total;
  bin.min = Math.min(bin.min, min);
  bin.max = Math.max(bin.max, max);
}

/** The number of values in a bin that were added with 1, where the others were added with 0. */
export function markedCount({ count, mean }: Bin): number {
  return Math.round(count * mean);
}

/** Some of many values, evenly spaced. */
export interface SpacedSample<T> {
  /** Calls `describe` only for a value that is kept. */
  readonly add: (describe: () => T) => void;
  readonly values: () => readonly T[];
  /** How many values were added. */
  readonly count: () => number;
}

/** Keeps all values, up to `limit`; of more, every second, fourth, and so on, and at least half of `limit`. */
export function createSpacedSample<T>(limit: number): SpacedSample<T> {
  let values: T[] = [];
  let step = 1;
  let count = 0;
  return {
    add: (describe) => {
      if (count % step === 0) values.push(describe());
      count += 1;
      if (values.length <= limit) return;
      values = values.filter((_, at) => at % 2 === 0);
      step *= 2;
    },
    values: () => values,
    count: () => count,
  };
}

/** The bars of a histogram as lines of text, at most `columns` wide; the bad part of a count is drawn lighter. */
export function plotBars(
  bars: readonly { readonly label: string; readonly count: number; readonly bad?: number }[],
  columns: number,
): string {
  const highest = Math.max(...bars.map(({ count }) => count));
  const labelWidth = Math.max(...bars.map(({ label }) => label.length));
  const countWidth = formatNumber(highest).length;
  const barWidth = Math.max(8, columns - labelWidth - countWidth - 7);
  // Rounded up, so that one value is visible.
  const lengthOf = (count: number): number => Math.ceil((count / highest) * barWidth);
  const lines = bars.map(({ label, count, bad = 0 }) => {
    const bar = '░'.repeat(lengthOf(bad)) + '█'.repeat(lengthOf(count) - lengthOf(bad));
    return `  ${label.padStart(labelWidth)}  ${formatNumber(count).padStart(countWidth)} ${bar}`.trimEnd();
  });
  return lines.map((line) => `${line}\n`).join('');
}
