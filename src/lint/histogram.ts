/** How many values lie from a bound, which counts, to another, which does not. */
export interface Bar {
  readonly from: number;
  readonly to: number;
  readonly count: number;
}

/** Counts values in bars whose widths are a power of two; it holds few bars, however many values there are. */
export interface Histogram {
  readonly add: (value: number) => void;
  /** Neighbouring bars from the least value to the greatest, at most `most` of them. */
  readonly bars: (most: number) => Bar[];
}

// Narrow enough for any reward; wider ones come by themselves.
const NARROWEST = 2 ** -40;
const MOST_HELD = 1024;

/** A histogram without values. The same values in any order make the same bars. */
export function newHistogram(): Histogram {
  let held: Held = { width: NARROWEST, counts: new Map<number, number>() };
  return {
    add: (value) => {
      // A bar further from zero than that could not be told from its neighbour.
      while (!Number.isSafeInteger(barOf(value, held))) held = widened(held);
      const at = barOf(value, held);
      held.counts.set(at, (held.counts.get(at) ?? 0) + 1);
      while (held.counts.size > MOST_HELD) held = widened(held);
    },
    bars: (most) => {
      let shown = held;
      while (extent(shown).length > most) shown = widened(shown);
      const { width, counts } = shown;
      const { first, length } = extent(shown);
      return Array.from({ length }, (_, index) => {
        const at = first + index;
        return { from: at * width, to: (at + 1) * width, count: counts.get(at) ?? 0 };
      });
    },
  };
}

interface Held {
  readonly width: number;
  readonly counts: Map<number, number>;
}

// The least numbers below zero would be rounded to it.
function barOf(value: number, { width }: Held): number {
  const at = Math.floor(value / width);
  return at === 0 && value < 0 ? -1 : at;
}

function widened({ width, counts }: Held): Held {
  const wider = new Map<number, number>();
  for (const [at, count] of counts) wider.set(Math.floor(at / 2), (wider.get(Math.floor(at / 2)) ?? 0) + count);
  return { width: width * 2, counts: wider };
}

function extent({ counts }: Held): { first: number; length: number } {
  let [first, last] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const at of counts.keys()) {
    first = Math.min(first, at);
    last = Math.max(last, at);
  }
  return counts.size === 0 ? { first: 0, length: 0 } : { first, length: last - first + 1 };
}
