import { fieldFlag } from '../fields/field-flag.ts';
import type { Flag } from '../flag.ts';
import { flagTarget } from '../operations/flag-target.ts';
import type { Operation } from '../operations/operation.ts';
import type { Shorthand } from '../operations/shorthand.ts';

/** The flags of an operation's body, one for each member a client may set, and its shorthands. */
export function bodyFlags(operation: Operation): Flag[] {
  const settable = Object.entries(flagTarget(operation).fields).filter(([, field]) => !field.filledByService);
  return [
    ...settable.map(([name, field]) => fieldFlag(name, field)),
    ...Object.entries(operation.shorthands ?? {}).map(([name, shorthand]) => shorthandFlag(name, shorthand)),
  ];
}

function shorthandFlag(name: string, shorthand: Shorthand): Flag {
  return {
    name,
    ...(shorthand.short ? { short: shorthand.short } : {}),
    takes: shorthand.kind === 'copy' ? 'switch' : shorthand.kind === 'role-message' ? 'values' : 'value',
    ...('value' in shorthand ? { value: shorthand.value } : {}),
    ...(shorthand.conflicts ? { conflicts: shorthand.conflicts } : {}),
    summary: shorthand.summary,
    group: shorthand.common ? 'Common' : 'More',
  };
}
