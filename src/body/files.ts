import { usage } from '../errors.ts';
import { flagName } from '../fields/field.ts';
import { type FlagValues, textOf } from '../fields/flag.ts';
import type { Operation } from '../operations/operation.ts';
import { targetOf } from '../operations/target.ts';
import type { Collected } from './collected.ts';
import { groupsEdit } from './groups.ts';
import type { Tools } from './tools.ts';

/** The files a command line gives for a member, and the flags without the one that gave them. */
export interface GivenFiles {
  readonly edits: Collected;
  readonly otherFlags: FlagValues;
}

/** Reads the files that are arguments, or the one of `--trajectory-groups @file`, which is the same. Throws usage for both. */
export async function readFiles(
  operation: Operation,
  args: readonly string[],
  flags: FlagValues,
  tools: Tools,
): Promise<GivenFiles> {
  const as = operation.arguments?.as;
  if (typeof as !== 'object') return { edits: { edits: [], issues: [] }, otherFlags: flags };
  const name = flagName(as.filesOf);
  const word = textOf(flags, name);
  if (args.length > 0 && word !== undefined)
    throw usage(`--${name} and files give the same member`, 'give one of them');
  const files = word?.startsWith('@') ? [word.slice(1)] : args;
  const otherFlags = new Map([...flags].filter(([flag]) => flag !== name || files.length === 0));
  const { path } = targetOf(operation);
  return {
    edits: files.length > 0 ? await groupsEdit([...path, as.filesOf], files, tools) : { edits: [], issues: [] },
    otherFlags,
  };
}
