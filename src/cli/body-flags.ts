import { type Field, fieldFlag } from '../fields/field.ts';
import type { Flag } from '../flag.ts';
import { flagTarget, type Operation, type Shorthand } from '../operations/operation.ts';

/** The flags of an operation's body, one for each field that a client may set, and the shorthands. */
export function bodyFlags(operation: Operation): Flag[] {
  const settable = Object.entries(flagTarget(operation).fields).filter(([, field]) => !field.isReadOnly);
  return [
    ...settable.map(([name, field]) => operationFieldFlag(operation, name, field)),
    ...Object.entries(operation.shorthands ?? {}).map(([name, shorthand]) => shorthandFlag(name, shorthand)),
  ];
}

// A prompt replaces the messages, which are then not required as a flag.
function operationFieldFlag(operation: Operation, name: string, field: Field): Flag {
  const flag = fieldFlag(name, field);
  const isReplaceable = flag.group === 'Required' && operation.arguments?.as === 'prompt';
  return isReplaceable ? { ...flag, group: 'Common' } : flag;
}

function shorthandFlag(name: string, shorthand: Shorthand): Flag {
  return {
    name,
    ...(shorthand.short ? { short: shorthand.short } : {}),
    ...shorthandValues[shorthand.kind],
    ...(shorthand.conflicts ? { conflicts: shorthand.conflicts } : {}),
    summary: shorthand.summary,
    group: shorthand.isCommon ? 'Common' : 'Messages',
  };
}

// The type and the placeholder in help of each kind of flag.
const shorthandValues: { readonly [kind in Shorthand['kind']]: Pick<Flag, 'takes' | 'value'> } = {
  message: { takes: 'value', value: '<text>' },
  'role-message': { takes: 'values', value: '<role:text>' },
  prefill: { takes: 'value', value: '<text>' },
  conversation: { takes: 'value', value: '<file>' },
  attach: { takes: 'values', value: '<file>' },
  'reply-schema': { takes: 'value', value: '<@file>' },
  age: { takes: 'value', value: '<age>' },
  copy: { takes: 'switch' },
};
