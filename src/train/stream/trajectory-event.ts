import type { Buffer } from 'node:buffer';
import type { JsonDocument } from '../../json/json-node.ts';
import type { TextLocation } from './text-location.ts';

/**
 * A part of a text with trajectories. The bytes of all events from `group` to `end` are the group as written; the bytes of
 * all events of a whole body are the body.
 */
export type TrajectoryEvent =
  /** A group starts, or any other value in place of one. */
  | { readonly kind: 'group'; readonly location: TextLocation }
  /** One trajectory, or any other value in place of one. */
  | {
      readonly kind: 'trajectory';
      readonly location: TextLocation;
      readonly bytes: Buffer;
      readonly container: 'in a group' | 'in a list' | 'alone';
      /** The parsed bytes, if they were parsed while reading; valid until the next event. */
      readonly document: JsonDocument | undefined;
    }
  /** Other fields of a group or body. Together they are that group or body with empty arrays. */
  | { readonly kind: 'text'; readonly location: TextLocation; readonly bytes: Buffer }
  /** Commas and whitespace between the elements of an array. */
  | { readonly kind: 'between'; readonly bytes: Buffer }
  | { readonly kind: 'end' };

/**
 * What a text contains: groups (or trajectories), in an array or one after the other; or a whole body. `elements` are groups
 * or trajectories that are not parsed: each starts with a `group` event, and its bytes are emitted as `text`.
 */
export type TextForm = 'groups' | 'body' | 'elements';
