import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/**
 * Keeps the part of the heap small in which short-lived values are: it grows to 48 MB while there is much work, and a
 * body of gigabytes, or a batch of a million lines, does not need more memory than its longest trajectory or line. A Node
 * without the flag would say so on stderr; those from 20 to 26 have it.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
}

// Four times what Node starts with: it has two halves of 4 MiB, of which one is in use.
const MAX_YOUNG_BYTES = 8 * 1024 * 1024;

/**
 * Returns a function that keeps the heap small once that part of it has grown to 8 MiB, to be called now and then: for many
 * short tasks, whose garbage would otherwise be collected too often.
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
