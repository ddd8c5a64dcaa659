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

/** A distribution in bounded memory: exact for up to 10,000 distinct values. */
export type Distribution = ReturnType<typeof createDistribution>;

const MAX_DISTINCT_VALUES = 10_000;
const MIN_BIN_WIDTH = 2 ** -40;
// Of a logarithmic distribution with more values: within 0.01 %, and whole numbers up to 16,384 are exact.
const LOG_BITS = 14;

/**
 * An empty distribution. More distinct values than it can hold are counted together: neighbors in steps of equal width, or
 * of equal ratio if it is logarithmic. The order of values does not change the counts.
 */
export function createDistribution(minWidth = MIN_BIN_WIDTH, isLogarithmic = false) {
  let level = 0;
  let cells = new Map<number, BinFigures>();
  let count = 0;
  let sum = 0;
  let max = Number.NEGATIVE_INFINITY;
  const keyOf = (value: number): number => {
    if (level === 0) return value;
    return coarserKey(value, isLogarithmic ? 2 ** (logExponent(value) + level) : minWidth * 2 ** level);
  };
  const sortedCells = (): [number, BinFigures][] => [...cells].sort(([left], [right]) => left - right);
  /** The values from each edge up to the next one; none without values. */
  const bars = (edges: readonly number[]): Bin[] => {
    if (count === 0) return [];
    const all = edges.slice(1).map((to, at) => ({ from: edges[at] ?? 0, to, count: 0, mean: 0, min: 0, max: 0 }));
    let at = 0;
    for (const [value, figures] of sortedCells()) {
      while (at < all.length - 1 && value >= (all[at]?.to ?? 0)) at += 1;
      const bar = all[at];
      if (bar) mergeFigures(bar, figures);
    }
    return all;
  };
  return {
    /** `y` is a second value, whose mean, minimum and maximum each bin has. */
    add: (value: number, y = 0): void => {
      addFigures(cells, keyOf(value), { count: 1, mean: y, min: y, max: y });
      count += 1;
      sum += value;
      max = Math.max(max, value);
      while (cells.size > MAX_DISTINCT_VALUES) {
        level += 1;
        const finer = cells;
        cells = new Map();
        for (const [key, figures] of finer) addFigures(cells, keyOf(key), figures);
      }
    },
    count: () => count,
    sum: () => sum,
    max: () => Math.max(0, max),
    /** The value that `percent` of all values do not exceed; 0 without values. */
    percentile: (percent: number): number => {
      let remaining = Math.max(1, Math.ceil((count * percent) / 100));
      for (const [value, figures] of sortedCells()) {
        remaining -= figures.count;
        if (remaining <= 0) return value;
      }
      return 0;
    },
    bars,
    /** Adjacent bins from the least to the greatest value, at most `maxBins`; their width is a power of two. */
    bins: (maxBins: number): Bin[] => bars(binEdges([...cells.keys()], maxBins, minWidth)),
    /** The values that are kept, not in order. */
    values: (): number[] => [...cells.keys()],
    minWidth,
  };
}

function logExponent(value: number): number {
  return Math.floor(Math.log2(Math.abs(value))) - LOG_BITS;
}

// Where doubles cannot distinguish adjacent multiples of the width, a value is its own key.
function coarserKey(value: number, width: number): number {
  const multiple = multipleBelow(value, width);
  return Number.isSafeInteger(multiple) ? multiple * width + 0 : value;
}

/** The bins of several distributions, with the same edges. */
export function sharedBins(all: readonly Distribution[], maxBins: number): Bin[][] {
  const edges = binEdges(
    all.flatMap(({ values }) => values()),
    maxBins,
    all[0]?.minWidth ?? MIN_BIN_WIDTH,
  );
  return all.map(({ bars }) => bars(edges));
}

function binEdges(values: readonly number[], maxBins: number, minWidth: number): number[] {
  if (values.length === 0) return [];
  const [least, greatest] = [Math.min(...values), Math.max(...values)];
  for (let width = minWidth; ; width *= 2) {
    const [first, last] = [multipleBelow(least, width), multipleBelow(greatest, width)];
    if (Number.isSafeInteger(first) && Number.isSafeInteger(last) && last - first < maxBins)
      return Array.from({ length: last - first + 2 }, (_, at) => (first + at) * width);
  }
}

// A tiny negative value would round to 0.
function multipleBelow(value: number, width: number): number {
  const multiple = Math.floor(value / width);
  return multiple === 0 && value < 0 ? -1 : multiple;
}

function addFigures(cells: Map<number, BinFigures>, key: number, figures: BinFigures): void {
  const cell = cells.get(key);
  if (cell) mergeFigures(cell, figures);
  else cells.set(key, { ...figures });
}

function mergeFigures(into: BinFigures, { count, mean, min, max }: BinFigures): void {
  const total = into.count + count;
  into.min = into.count === 0 ? min : Math.min(into.min, min);
  into.max = into.count === 0 ? max : Math.max(into.max, max);
  // Weighted, because the sum of large values overflows.
  into.mean = into.mean * (into.count / total) + mean * (count / total);
  into.count = total;
}

/** The number of values in a bin that were added with 1, where the others were added with 0. */
export function markedCount({ count, mean }: Bin): number {
  return Math.round(count * mean);
}

/** The edges of bars of equal width from one value to another; whole numbers. */
export function evenEdges(min: number, max: number, barCount: number): number[] {
  const width = Math.max(1, Math.ceil((max + 1 - min) / barCount));
  return Array.from({ length: Math.ceil((max + 1 - min) / width) + 1 }, (_, at) => min + at * width);
}

/** The edges of bars from one value to another, some for each power of ten; whole numbers. */
export function logEdges(min: number, max: number, perDecade: number): number[] {
  const edges = new Set(min < 1 ? [0] : []);
  for (let at = Math.floor(Math.log10(Math.max(1, min)) * perDecade), edge = 0; edge <= max; at += 1) {
    edge = Math.round(10 ** (at / perDecade));
    edges.add(edge);
  }
  return [...edges];
}

/** Keeps all values, up to `limit`; of more, every second, fourth, and so on, and at least half of `limit`. */
export function createSpacedSample<T>(limit: number) {
  let values: T[] = [];
  let step = 1;
  let count = 0;
  return {
    /** Calls `describe` only for a value that is kept. */
    add: (describe: () => T): void => {
      if (count % step === 0) values.push(describe());
      count += 1;
      if (values.length <= limit) return;
      values = values.filter((_, at) => at % 2 === 0);
      step *= 2;
    },
    values: (): readonly T[] => values,
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
  const countWidth = Math.max(...bars.map(({ count }) => formatNumber(count).length));
  const barWidth = Math.max(8, columns - labelWidth - countWidth - 7);
  // Rounded up, so that one value is visible.
  const lengthOf = (count: number): number => Math.ceil((count / highest) * barWidth);
  const lines = bars.map(({ label, count, bad = 0 }) => {
    const bar = '░'.repeat(lengthOf(bad)) + '█'.repeat(lengthOf(count) - lengthOf(bad));
    return `${`  ${label.padStart(labelWidth)}  ${formatNumber(count).padStart(countWidth)} ${bar}`.trimEnd()}\n`;
  });
  return lines.join('');
}
