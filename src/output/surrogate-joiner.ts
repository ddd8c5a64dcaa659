/** Keeps surrogate pairs together: the first half waits for the text that follows. */
export interface SurrogateJoiner {
  /** The text that can be written now. */
  readonly push: (text: string) => string;
  /** The half that is still waiting, or nothing. */
  readonly flush: () => string;
}

/** Creates a joiner for one text. */
export function createSurrogateJoiner(): SurrogateJoiner {
  let pendingHalf = '';
  return {
    push: (text) => {
      const all = pendingHalf + text;
      pendingHalf = /[\ud800-\udbff]$/.test(all) ? all.slice(-1) : '';
      return pendingHalf === '' ? all : all.slice(0, -1);
    },
    flush: () => {
      const half = pendingHalf;
      pendingHalf = '';
      return half;
    },
  };
}
