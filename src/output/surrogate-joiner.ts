/** Text that never splits a character: half of a surrogate pair waits for the text that follows. */
export interface SurrogateJoiner {
  /** What can be written now of all text so far. */
  readonly push: (text: string) => string;
  /** The half that never got its other half, or nothing. */
  readonly flush: () => string;
}

/** A joiner for one text. */
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
