/** Where trajectories of one group stand next to each other: in which source, from which offset to which. */
export interface Run {
  readonly source: number;
  readonly start: number;
  readonly end: number;
}

/** Where the trajectories of each group stand, in the order they came: 28 bytes for each run of neighbours. */
export interface Runs {
  /** Adds a trajectory; `isNext`: nothing but blanks is between it and the one that was added before. */
  readonly add: (group: number, run: Run, isNext: boolean) => void;
  readonly of: (group: number) => Generator<Run>;
}

const NONE = -1;

/** No runs yet. */
export function newRuns(): Runs {
  // Of each run its bounds, its source, and the run that follows it in its group; of each group its first and last run.
  let bounds = new Float64Array(2048);
  let links = new Int32Array(2048);
  let ends = new Int32Array(2048);
  let runs = 0;
  let last = NONE;
  return {
    add: (group, { source, start, end }, isNext) => {
      if (isNext && group === last && links[runs * 2 - 2] === source) {
        bounds[runs * 2 - 1] = end;
        return;
      }
      bounds = roomIn(bounds, runs, (length) => new Float64Array(length));
      links = roomIn(links, runs, (length) => new Int32Array(length));
      ends = roomIn(ends, group, (length) => new Int32Array(length));
      bounds.set([start, end], runs * 2);
      links.set([source, NONE], runs * 2);
      // Runs are counted from 1 here, because an array is full of zeros.
      if (ends[group * 2] === 0) ends[group * 2] = runs + 1;
      else links[((ends[group * 2 + 1] ?? 0) - 1) * 2 + 1] = runs;
      runs += 1;
      ends[group * 2 + 1] = runs;
      last = group;
    },
    of: function* (group) {
      for (let run = (ends[group * 2] ?? 0) - 1; run !== NONE; run = links[run * 2 + 1] ?? NONE) {
        yield { source: links[run * 2] ?? 0, start: bounds[run * 2] ?? 0, end: bounds[run * 2 + 1] ?? 0 };
      }
    },
  };
}

function roomIn<T extends Float64Array | Int32Array>(pairs: T, at: number, make: (length: number) => T): T {
  if (at * 2 < pairs.length) return pairs;
  const larger = make(Math.max(pairs.length * 2, at * 2 + 2));
  larger.set(pairs);
  return larger;
}
