import { usageFailure } from '../errors.ts';
import { flagName } from '../fields/field.ts';
import { parseAgeStart } from '../fields/string-formats.ts';
import { type FlagValues, getArrayFlag, getStringFlag } from '../flag.ts';
import { flagTarget, type Operation, type Shorthand } from '../operations/operation.ts';
import { parseMessageFlag } from './chat/message-edits.ts';
import { setFlagEdits } from './flag-edits.ts';
import { fileReference, fileReferenceFlags } from './named-inputs.ts';

/**
 * Throws usage for flags of a body that are invalid whatever the body is. Reads no input: errors of the command
 * line come before those of files (docs/contract.md 3).
 */
export function rejectInvalidFlags(operation: Operation, flags: FlagValues, now: number): void {
  const { fields } = flagTarget(operation);
  for (const [label, word] of stringFlags(fileReferenceFlags(operation), flags)) fileReference(word, label);
  const secrets = Object.keys(fields).filter((name) => fields[name]?.isSecret);
  for (const [label, word] of stringFlags(secrets.map(flagName), flags))
    if (word !== 'random' && !word.startsWith('@'))
      throw usageFailure(
        `${label} is a secret and cannot be an argument`,
        `write ${label} random, ${label} @file, or ${label} @- for stdin`,
      );
  setFlagEdits(operation, flags);
  for (const [name, shorthand] of Object.entries(operation.shorthands ?? {}))
    if (flags.has(name)) rejectInvalidShorthand(name, shorthand, flags, now);
}

function stringFlags(names: readonly string[], flags: FlagValues): [label: string, word: string][] {
  return names.flatMap((name) => {
    const word = getStringFlag(flags, name);
    return word === undefined ? [] : [[`--${name}`, word]];
  });
}

function rejectInvalidShorthand(name: string, { kind }: Shorthand, flags: FlagValues, now: number): void {
  if (kind === 'role-message') getArrayFlag(flags, name).forEach(parseMessageFlag);
  const word = getStringFlag(flags, name) ?? '';
  if (kind === 'age') parseAgeStart(`--${name}`, word, now);
}
