import { setFlagsFromString } from 'node:v8';

/**
 * Keeps the part of the heap small in which short-lived values are: it grows to 48 MB while there is much work, and a
 * body of gigabytes, or a batch of a million lines, does not need more memory than its longest trajectory or line. A Node
 * without the flag would say so on stderr; those from 20 to 26 have it.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
}
