import type { Fields } from '../fields/field.ts';
import type { Path } from '../json/path.ts';
import type { Operation } from './operation.ts';

/** The object that flags fill: where it is in the body, and its members. */
export interface Target {
  readonly path: Path;
  readonly fields: Fields;
}

/** The body of an operation, or what `flagsFrom` names in it (`start` of a call). */
export function targetOf({ body, flagsFrom }: Operation): Target {
  const inner = flagsFrom === undefined ? undefined : body[flagsFrom];
  if (flagsFrom === undefined || inner?.type !== 'object' || !inner.fields) return { path: [], fields: body };
  return { path: [flagsFrom], fields: inner.fields };
}
