import type { Fields } from '../fields/field.ts';
import type { JsonPath } from '../json/json-path.ts';
import type { Operation } from './operation.ts';

/** The object that flags fill: where it is in the body, and its members. */
export interface FlagTarget {
  readonly path: JsonPath;
  readonly fields: Fields;
}

/** The body of an operation, or what `flagsFrom` names in it (`start` of a call). */
export function flagTarget({ body, flagsFrom }: Operation): FlagTarget {
  const inner = flagsFrom === undefined ? undefined : body[flagsFrom];
  if (flagsFrom === undefined || inner?.type !== 'object' || !inner.fields) return { path: [], fields: body };
  return { path: [flagsFrom], fields: inner.fields };
}
