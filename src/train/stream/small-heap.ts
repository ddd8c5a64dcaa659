import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** Under load, V8's young generation would grow to 48 MB, without need. A Node without the flag would print a warning on stderr. */
export function limitYoungGeneration(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
}

/** From Node 24 on, the garbage of small trajectories would take 60 MB. It costs a tenth of their time, but half of that of a batch. */
export function keepHeapSmall(): void {
  limitYoungGeneration();
  setFlagsFromString('--optimize-for-size');
}

// Its capacity is one of its two halves, and grows by factors of two: 1, 2 and 4 MiB, less the headers of pages.
const MIN_GROWN_BYTES = 3 * 1024 * 1024;

/** Returns a function to call regularly: once the young generation has grown to 2 halves of 4 MiB, it grows no further. */
export function createHeapLimit(): () => void {
  let isReached = false;
  return () => {
    if (isReached) return;
    const young = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space');
    // Not `space_size`: from Node 26 on, it has no more of the second half than was used so far.
    isReached = young !== undefined && young.space_used_size + young.space_available_size >= MIN_GROWN_BYTES;
    if (isReached) limitYoungGeneration();
  };
}
