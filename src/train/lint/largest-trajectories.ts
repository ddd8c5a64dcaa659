/** A trajectory with its location and size. */
export interface SizedTrajectory {
  readonly at: string;
  readonly path: string;
  readonly bytes: number;
}

// Enough to spot an outlier.
const MAX_LARGEST_TRAJECTORIES = 5;

/** The largest trajectories, largest first; of equal sizes, the earlier first. */
export interface LargestTrajectories {
  readonly all: readonly SizedTrajectory[];
  /** Calls `describe` only for a trajectory that is among them. */
  readonly add: (bytes: number, describe: () => Omit<SizedTrajectory, 'bytes'>) => void;
}

/** An empty list. */
export function createLargestTrajectories(): LargestTrajectories {
  const all: SizedTrajectory[] = [];
  return {
    all,
    add: (bytes, describe) => {
      const index = all.findIndex((one) => one.bytes < bytes);
      if (index === -1 && all.length === MAX_LARGEST_TRAJECTORIES) return;
      all.splice(index === -1 ? all.length : index, 0, { ...describe(), bytes });
      all.length = Math.min(all.length, MAX_LARGEST_TRAJECTORIES);
    },
  };
}
