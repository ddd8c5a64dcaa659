import type { Field } from '../fields/field.ts';
import { fieldFlag } from '../fields/field-flag.ts';
import type { Flag } from '../flag.ts';
import { flagTarget, type Operation, type Shorthand } from '../operations/operation.ts';

/** The flags of an operation's body, one for each field that a client may set, and the shorthands. */
export function bodyFlags(operation: Operation): Flag[] {
  const settable = Object.entries(flagTarget(operation).fields).filter(([, field]) => !field.filledByService);
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
    takes: shorthandTakes(shorthand),
    ...('value' in shorthand ? { value: shorthand.value } : {}),
    ...(shorthand.conflicts ? { conflicts: shorthand.conflicts } : {}),
    summary: shorthand.summary,
    group: shorthand.common ? 'Common' : 'Messages',
  };
}

function shorthandTakes({ kind }: Shorthand): Flag['takes'] {
  if (kind === 'copy' || kind === 'logprobs') return 'switch';
  return kind === 'role-message' || kind === 'attach' ? 'values' : 'value';
}
