import type { Fields } from '../fields/field.ts';
import type { JsonPath } from '../json/json-path.ts';
import type { Operation } from './operation.ts';

/** The object whose fields the flags set, and its path in the body. */
export interface FlagTarget {
  readonly path: JsonPath;
  readonly fields: Fields;
}

/** The body of an operation, or its field `flagsFrom` (`start` of a call). */
export function flagTarget({ body, flagsFrom }: Operation): FlagTarget {
  const inner = flagsFrom === undefined ? undefined : body[flagsFrom];
  if (flagsFrom === undefined || inner?.type !== 'object' || !inner.fields) return { path: [], fields: body };
  return { path: [flagsFrom], fields: inner.fields };
}
