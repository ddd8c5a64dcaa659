/** What repeats of a process may cost together, so that a service in trouble is not given more of it. */
export interface Budget {
  /** Pays for a repeat; false when there is not enough left. */
  readonly pay: () => boolean;
  /** An attempt succeeded: a little comes back. */
  readonly earn: () => void;
}

const WHOLE = 500;
const REPEAT = 5;

/** A full budget: 500, of which a repeat costs 5 and a success brings back 1. */
export function fullBudget(): Budget {
  let left = WHOLE;
  return {
    pay: () => {
      if (left < REPEAT) return false;
      left -= REPEAT;
      return true;
    },
    earn: () => {
      left = Math.min(WHOLE, left + 1);
    },
  };
}
