/** The place of one result among all. */
export interface Place {
  /** Writes the result, or nothing, when it is its turn; done when it was written. Once it has failed, nothing more is written. */
  readonly put: (result: Uint8Array | undefined) => Promise<void>;
}

/** Gives each result its place, in the order in which places are asked for. */
export type Places = () => Place;

/** Results as they come. */
export function asFinished(write: (result: Uint8Array) => Promise<void>): Places {
  return () => ({ put: async (result) => result && write(result) });
}

/** Results in the order of their places; those that come early are held. `write` has to keep the order it is called in. */
export function inOrder(write: (result: Uint8Array) => Promise<void>): Places {
  const held = new Map<number, () => void>();
  let places = 0;
  let next = 0;
  return () => {
    const at = places;
    places += 1;
    return {
      put: (result) =>
        new Promise((resolve, reject) => {
          // It has had its turn.
          if (at < next) return resolve();
          held.set(at, () => void (result ? write(result) : Promise.resolve()).then(resolve, reject));
          for (let ready = held.get(next); ready; ready = held.get(next)) {
            held.delete(next);
            next += 1;
            ready();
          }
        }),
    };
  };
}
