import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/**
 * Keeps V8's young generation small: under load it would grow to 48 MB, and a body of gigabytes or a batch of a million
 * lines needs no more memory than its longest trajectory or line. Node 20 to 26 have this flag; a Node without it would
 * print a warning on stderr.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
}

// Four times what Node starts with: it has two halves of 4 MiB, of which one is in use.
const MAX_YOUNG_BYTES = 8 * 1024 * 1024;

/**
 * Returns a function to be called regularly, which limits the young generation once it has grown to 8 MiB. For many short
 * tasks, a smaller limit would cause too many garbage collections.
 */
export function createHeapLimit(): () => void {
  let isReached = false;
  return () => {
    if (isReached) return;
    const young = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space');
    isReached = (young?.space_size ?? 0) >= MAX_YOUNG_BYTES;
    if (isReached) keepHeapSmall();
  };
}
