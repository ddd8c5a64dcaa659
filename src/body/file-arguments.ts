import { usageFailure } from '../errors.ts';
import { flagName } from '../fields/field.ts';
import { type FlagValues, getStringFlag } from '../flag.ts';
import { flagTarget, type Operation } from '../operations/operation.ts';
import type { Edit } from './edit.ts';
import { fileReference } from './file-reference.ts';

/** The files given for a field, the edit that inserts an empty array for them, and the flags without the flag that named them. */
export interface FileArguments {
  readonly files: readonly string[];
  readonly edits: readonly Edit[];
  readonly otherFlags: FlagValues;
}

/**
 * The files that are arguments, or the one of `--trajectory-groups @file`, which is the same. In the body they are an
 * empty list until they are read. Throws usage for both.
 */
export function parseFileArguments(operation: Operation, args: readonly string[], flags: FlagValues): FileArguments {
  const argumentUse = operation.arguments?.as;
  if (typeof argumentUse !== 'object') return { files: [], edits: [], otherFlags: flags };
  const name = flagName(argumentUse.filesOf);
  const word = getStringFlag(flags, name);
  if (args.length > 0 && word !== undefined)
    throw usageFailure(`--${name} cannot be combined with files that set the same field`, 'remove one of them');
  const file = word === undefined ? undefined : fileReference(word, `--${name}`);
  const files = file === undefined ? args : [file];
  const otherFlags = new Map([...flags].filter(([flag]) => flag !== name || files.length === 0));
  const path = [...flagTarget(operation).path, argumentUse.filesOf];
  const label = files.map((file) => (file === '-' ? 'stdin' : file)).join(' ');
  return { files, edits: files.length > 0 ? [{ path, text: '[]', origin: { label } }] : [], otherFlags };
}
