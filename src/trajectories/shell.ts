import { Buffer } from 'node:buffer';
import type { JsonDocument } from '../json/document.ts';
import { type Place, placeInside } from './place.ts';
import { documentIn } from './unreadable-text.ts';

/** A group or a body with its lists empty: what of it is no trajectory. */
export interface Shell {
  readonly bytes: Buffer;
  /** Where an offset in it stands in the text it was taken from. */
  readonly placeAt: (offset: number) => Place;
}

/** A text that passed. */
export interface Part {
  readonly bytes: Buffer;
  readonly place: Place;
}

/** A copy of a text that passed, for keeping. */
export function partOf({ bytes, place }: Part): Part {
  return { bytes: Buffer.from(bytes), place };
}

/** The shell that the texts of a group or body make, in order. */
export function shellOf(parts: readonly Part[]): Shell {
  const [only] = parts;
  const bytes = parts.length === 1 && only ? only.bytes : Buffer.concat(parts.map((part) => part.bytes));
  return {
    bytes,
    placeAt: (offset) => {
      let before = 0;
      for (const part of parts.slice(0, -1)) {
        if (offset < before + part.bytes.length) return placeInside(part.bytes, part.place, offset - before);
        before += part.bytes.length;
      }
      const last = parts.at(-1);
      return last ? placeInside(last.bytes, last.place, offset - before) : { offset, line: 1, column: 1 };
    },
  };
}

/** The document of a shell. Throws UnreadableText where it is none. */
export function documentOf({ bytes, placeAt }: Shell): JsonDocument {
  return documentIn(bytes, placeAt);
}
