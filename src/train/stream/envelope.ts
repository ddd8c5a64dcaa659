import { Buffer } from 'node:buffer';
import type { JsonDocument } from '../../json/json-node.ts';
import { parseTextPart } from './invalid-text-error.ts';
import { locationInside, type TextLocation } from './text-location.ts';
import type { TrajectoryEvent } from './trajectory-event.ts';

/** A group or a body with its arrays empty: all of it but the trajectories. */
export interface Envelope {
  readonly bytes: Buffer;
  /** The location of an offset in the original text. */
  readonly locationAt: (offset: number) => TextLocation;
}

/** A part of a text with its location. */
export interface TextPart {
  readonly bytes: Buffer;
  readonly location: TextLocation;
}

/** A copy of a part, which lasts. */
export function copyTextPart({ bytes, location }: TextPart): TextPart {
  return { bytes: Buffer.from(bytes), location };
}

/** Takes the events of a body one by one, and adds copies of its texts outside of groups to `parts`. */
export function createBodyTextCollector(parts: TextPart[]): (event: TrajectoryEvent) => void {
  let isInGroup = false;
  return (event) => {
    if (event.kind === 'group') isInGroup = true;
    if (event.kind === 'end') isInGroup = false;
    if (event.kind === 'text' && !isInGroup) parts.push(copyTextPart(event));
  };
}

/** The envelope made of the parts of a group or body, in order. */
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

/** Parses an envelope. Throws InvalidTextError if it is not valid JSON. */
export function parseEnvelope({ bytes, locationAt }: Envelope): JsonDocument {
  return parseTextPart(bytes, locationAt);
}
