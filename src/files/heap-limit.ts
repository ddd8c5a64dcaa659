import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Under load, V8's young generation would grow to 48 MB, without need. A Node without the flag would print a warning on stderr. */
export function limitYoungGeneration(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
}

// Seven times V8's own: what runs once per large trajectory would be optimized for longer than it runs.
const OPTIMIZED_AFTER_BYTES = 500_000;

/** Prepares V8 to read training data, on a version of Node, until the end of the process. */
export function prepareForTrajectories(node: string): void {
  limitYoungGeneration();
  // From Node 24 on, the garbage of small trajectories would take 60 MB. It costs a tenth of their time, but half of that of a batch.
  setFlagsFromString('--optimize-for-size');
  // From Node 22 on, V8 has a fast compiler for such functions, and no such flag.
  if (node.startsWith('20.')) setFlagsFromString(`--interrupt-budget=${OPTIMIZED_AFTER_BYTES}`);
}

// Its capacity is one of its two halves, and grows by factors of two: 1, 2 and 4 MiB, less the headers of pages.
const MIN_GROWN_BYTES = 3 * 1024 * 1024;

// V8 would let the old generation grow to four times what it holds before it collects garbage.
const MAX_GARBAGE_PERCENT = 100;

/**
 * Returns a function to call regularly: once the young generation has grown to 2 halves of 4 MiB, it grows no further. Requests that
 * are in flight for longer end up in the old generation, which grows to twice what it holds.
 */
export function createHeapLimit(): () => void {
  setFlagsFromString(`--heap-growing-percent=${MAX_GARBAGE_PERCENT}`);
  let isReached = false;
  return () => {
    if (isReached) return;
    const young = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space');
    // Not `space_size`: from Node 26 on, it has no more of the second half than was used so far.
    isReached = young !== undefined && young.space_used_size + young.space_available_size >= MIN_GROWN_BYTES;
    if (isReached) limitYoungGeneration();
  };
}

// V8 would let 64 MiB of buffers become garbage before it collects any.
const MAX_GARBAGE_BYTES = 8 * 1024 * 1024;

/** Returns a function to call regularly while large values come and go: it collects garbage `now`, or after 8 MiB of new values. */
export function createGarbageLimit(): (now: boolean) => void {
  let collect: (() => void) | undefined;
  const usedBytes = (): number => {
    const { used_heap_size: heap, external_memory: buffers } = getHeapStatistics();
    return heap + buffers;
  };
  let leftBytes = 0;
  return (now) => {
    if (!now && usedBytes() - leftBytes < MAX_GARBAGE_BYTES) return;
    setFlagsFromString('--expose-gc');
    collect ??= runInNewContext('gc');
    collect?.();
    leftBytes = usedBytes();
  };
}
