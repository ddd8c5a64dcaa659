import { Buffer } from 'node:buffer';

/** The memory available for the merged chunks of a response. */
export interface MemoryBudget {
  /** True until a text did not fit. */
  readonly isWithinLimit: () => boolean;
  readonly reservedBytes: () => number;
  /** Reserves memory for a text, minus that of the text it replaces; false from the first text that does not fit. */
  readonly tryReserve: (text: string, replaced?: string) => boolean;
}

// The memory of a string in addition to its bytes: a stream can consist of single characters or many empty parts.
const STRING_OVERHEAD_BYTES = 64;

/** Of a stream that is merged. Text and lines of JSON that are printed as they arrive have no limit. */
export const MAX_STREAM_BYTES = 8 * 1024 * 1024;

/** Creates a budget of `maxBytes` bytes. */
export function createMemoryBudget(maxBytes: number): MemoryBudget {
  let remainingBytes = maxBytes;
  return {
    isWithinLimit: () => remainingBytes >= 0,
    reservedBytes: () => maxBytes - remainingBytes,
    tryReserve: (text, replaced) => {
      if (remainingBytes < 0) return false;
      remainingBytes -= stringBytes(text) - (replaced === undefined ? 0 : stringBytes(replaced));
      return remainingBytes >= 0;
    },
  };
}

function stringBytes(text: string): number {
  return Buffer.byteLength(text) + STRING_OVERHEAD_BYTES;
}
