import type { Buffer } from 'node:buffer';
import type { Position } from '../json/position.ts';

/** Where something begins in its text: line and column from 1, which do not count a byte order mark, and the offset in bytes, which does. */
export interface Place extends Position {
  readonly offset: number;
}

/**
 * What passes while a text with trajectories is read. The bytes of all that stands between `group` and `end` are the
 * group as it is written, and those of all of a whole body are the body.
 */
export type Passing =
  /** A group begins; or, in a list of groups, anything else that stands in the place of one. */
  | { readonly kind: 'group'; readonly place: Place }
  /** One trajectory, or what stands in the place of one. `isAlone`: no group is around it. */
  | { readonly kind: 'trajectory'; readonly place: Place; readonly bytes: Buffer; readonly isAlone: boolean }
  /** Other members of a group or of a whole body. Put together they are that group or body with an empty list. */
  | { readonly kind: 'text'; readonly place: Place; readonly bytes: Buffer }
  /** Commas and blanks between the elements of a list. */
  | { readonly kind: 'between'; readonly bytes: Buffer }
  | { readonly kind: 'end' };

/** What a text is: groups (or trajectories), as a list or one after the other; or a whole body. */
export type Form = 'groups' | 'body';

/** What was found wrong with a text, where: not JSON, or not of the form it should have. */
export class UnreadableText extends Error {
  override readonly name = 'UnreadableText';
  readonly place: Place;

  constructor(message: string, place: Place) {
    super(message);
    this.place = place;
  }
}
