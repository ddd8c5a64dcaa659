import { Buffer } from 'node:buffer';

/** The memory that what is gathered of a reply may take. */
export interface Room {
  /** True while everything has fitted. */
  readonly isEnough: () => boolean;
  /** Takes the room of a text, less that of the one it stands for; false where it does not fit, now and from then on. */
  readonly takes: (text: string, before?: string) => boolean;
}

// What a string takes besides its bytes: a stream may come a character at a time, or in many empty parts.
const OVERHEAD = 64;

/** Room for so many bytes. */
export function roomFor(bytes: number): Room {
  let left = bytes;
  return {
    isEnough: () => left >= 0,
    takes: (text, before) => {
      if (left < 0) return false;
      left -= sizeOf(text) - (before === undefined ? 0 : sizeOf(before));
      return left >= 0;
    },
  };
}

/** Texts in the order they come, as far as there is room. */
export interface Gathered {
  readonly add: (text: string) => void;
  readonly joined: (separator: string) => string;
}

/** Nothing yet, to be gathered in a room. */
export function gatheredIn(room: Room): Gathered {
  const pieces: string[] = [];
  return {
    add: (text) => {
      if (room.takes(text)) pieces.push(text);
    },
    joined: (separator) => pieces.join(separator),
  };
}

function sizeOf(text: string): number {
  return Buffer.byteLength(text) + OVERHEAD;
}
