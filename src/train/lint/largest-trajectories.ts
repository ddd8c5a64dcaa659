/** A trajectory, where it is and how many bytes it has. */
export interface SizedTrajectory {
  readonly at: string;
  readonly path: string;
  readonly bytes: number;
}

// Enough to see whether one stands out.
const MAX_LARGEST_TRAJECTORIES = 5;

/** The largest of some trajectories, the largest first; of equals those that came first. */
export interface LargestTrajectories {
  readonly all: readonly SizedTrajectory[];
  /** `tell` is asked only for one that is among them. */
  readonly add: (bytes: number, describe: () => Omit<SizedTrajectory, 'bytes'>) => void;
}

/** The largest of none. */
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
