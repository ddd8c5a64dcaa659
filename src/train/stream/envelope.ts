import { Buffer } from 'node:buffer';
import type { JsonDocument } from '../../json/parse-json.ts';
import { parseTextPart } from './invalid-text-error.ts';
import { locationInside, type TextLocation } from './text-location.ts';

/** A group or a body with its lists empty: what of it is no trajectory. */
export interface Envelope {
  readonly bytes: Buffer;
  /** Where an offset in it stands in the text it was taken from. */
  readonly locationAt: (offset: number) => TextLocation;
}

/** A text that passed. */
export interface TextPart {
  readonly bytes: Buffer;
  readonly location: TextLocation;
}

/** A copy of a text that passed, for keeping. */
export function copyTextPart({ bytes, location }: TextPart): TextPart {
  return { bytes: Buffer.from(bytes), location };
}

/** The shell that the texts of a group or body make, in order. */
export function createEnvelope(parts: readonly TextPart[]): Envelope {
  const [only] = parts;
  const bytes = parts.length === 1 && only ? only.bytes : Buffer.concat(parts.map((part) => part.bytes));
  return {
    bytes,
    locationAt: (offset) => {
      let before = 0;
      for (const part of parts.slice(0, -1)) {
        if (offset < before + part.bytes.length) return locationInside(part.bytes, part.location, offset - before);
        before += part.bytes.length;
      }
      const last = parts.at(-1);
      return last ? locationInside(last.bytes, last.location, offset - before) : { offset, line: 1, column: 1 };
    },
  };
}

/** The document of a shell. Throws UnreadableText where it is none. */
export function parseEnvelope({ bytes, locationAt }: Envelope): JsonDocument {
  return parseTextPart(bytes, locationAt);
}
