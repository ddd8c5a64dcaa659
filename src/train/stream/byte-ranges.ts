/** Adjacent trajectories of one group: the index of their source, and their offsets. */
export interface ByteRange {
  readonly source: number;
  readonly start: number;
  readonly end: number;
}

/** The byte ranges of each group in order; a range takes 28 bytes of memory. */
export interface GroupRanges {
  /** Adds a trajectory; `isAdjacent`: only whitespace separates it from the one added before. */
  readonly add: (group: number, range: ByteRange, isAdjacent: boolean) => void;
  readonly rangesOf: (group: number) => Generator<ByteRange>;
}

const NO_INDEX = -1;

/** No ranges. */
export function createGroupRanges(): GroupRanges {
  // For each range: its bounds, its source and the next range of its group. For each group: its first and last range.
  let bounds = new Float64Array(2048);
  let links = new Int32Array(2048);
  let ends = new Int32Array(2048);
  let rangeCount = 0;
  let lastGroup = NO_INDEX;
  return {
    add: (group, { source, start, end }, isAdjacent) => {
      if (isAdjacent && group === lastGroup && links[rangeCount * 2 - 2] === source) {
        bounds[rangeCount * 2 - 1] = end;
        return;
      }
      bounds = ensureCapacity(bounds, rangeCount, (length) => new Float64Array(length));
      links = ensureCapacity(links, rangeCount, (length) => new Int32Array(length));
      ends = ensureCapacity(ends, group, (length) => new Int32Array(length));
      bounds.set([start, end], rangeCount * 2);
      links.set([source, NO_INDEX], rangeCount * 2);
      // Ranges count from 1 here, because a new array is filled with zeros.
      if (ends[group * 2] === 0) ends[group * 2] = rangeCount + 1;
      else links[((ends[group * 2 + 1] ?? 0) - 1) * 2 + 1] = rangeCount;
      rangeCount += 1;
      ends[group * 2 + 1] = rangeCount;
      lastGroup = group;
    },
    rangesOf: function* (group) {
      for (let range = (ends[group * 2] ?? 0) - 1; range !== NO_INDEX; range = links[range * 2 + 1] ?? NO_INDEX) {
        yield { source: links[range * 2] ?? 0, start: bounds[range * 2] ?? 0, end: bounds[range * 2 + 1] ?? 0 };
      }
    },
  };
}

function ensureCapacity<T extends Float64Array | Int32Array>(pairs: T, at: number, make: (length: number) => T): T {
  if (at * 2 < pairs.length) return pairs;
  const larger = make(Math.max(pairs.length * 2, at * 2 + 2));
  larger.set(pairs);
  return larger;
}
