/** A trajectory, where it is and how many bytes it has. */
export interface Sized {
  readonly at: string;
  readonly path: string;
  readonly bytes: number;
}

// Enough to see whether one stands out.
const MOST = 5;

/** The largest of some trajectories, the largest first; of equals those that came first. */
export interface Largest {
  readonly all: readonly Sized[];
  /** `tell` is asked only for one that is among them. */
  readonly add: (bytes: number, tell: () => Omit<Sized, 'bytes'>) => void;
}

/** The largest of none. */
export function largestOnes(): Largest {
  const all: Sized[] = [];
  return {
    all,
    add: (bytes, tell) => {
      const place = all.findIndex((one) => one.bytes < bytes);
      if (place === -1 && all.length === MOST) return;
      all.splice(place === -1 ? all.length : place, 0, { ...tell(), bytes });
      all.length = Math.min(all.length, MOST);
    },
  };
}
