import { Buffer } from 'node:buffer';

/** The memory that what is gathered of a reply may take. */
export interface MemoryBudget {
  /** True while everything has fitted. */
  readonly isWithinLimit: () => boolean;
  /** Takes the room of a text, less that of the one it stands for; false where it does not fit, now and from then on. */
  readonly tryReserve: (text: string, replaced?: string) => boolean;
}

// What a string takes besides its bytes: a stream may come a character at a time, or in many empty parts.
const STRING_OVERHEAD_BYTES = 64;

/** Room for so many bytes. */
export function createMemoryBudget(maxBytes: number): MemoryBudget {
  let remainingBytes = maxBytes;
  return {
    isWithinLimit: () => remainingBytes >= 0,
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
