import type { Buffer } from 'node:buffer';
import type { JsonDocument } from '../../json/parse-json.ts';
import type { TapeBuffer } from '../../json/tape.ts';
import type { TextLocation } from './text-location.ts';

/**
 * What passes while a text with trajectories is read. The bytes of all that stands between `group` and `end` are the
 * group as it is written, and those of all of a whole body are the body.
 */
export type TrajectoryEvent =
  /** A group begins; or, in a list of groups, anything else that stands in the place of one. */
  | { readonly kind: 'group'; readonly location: TextLocation }
  /** One trajectory, or what stands in the place of one; without a group around it, in a list or for itself. */
  | {
      readonly kind: 'trajectory';
      readonly location: TextLocation;
      readonly bytes: Buffer;
      readonly container: 'in a group' | 'in a list' | 'alone';
      /** The value that the bytes are, where it was read on the way; it lasts until the next event. */
      readonly document: JsonDocument | undefined;
      /** Memory for the index of that value where it was not. */
      readonly tapeBuffer: TapeBuffer;
    }
  /** Other members of a group or of a whole body. Put together they are that group or body with an empty list. */
  | { readonly kind: 'text'; readonly location: TextLocation; readonly bytes: Buffer }
  /** Commas and blanks between the elements of a list. */
  | { readonly kind: 'between'; readonly bytes: Buffer }
  | { readonly kind: 'end' };

/**
 * What a text is: groups (or trajectories), as a list or one after the other; or a whole body. As `elements` groups and
 * trajectories are not looked into: each begins as a `group`, and its bytes pass as they come.
 */
export type TextForm = 'groups' | 'body' | 'elements';
