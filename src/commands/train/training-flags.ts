import type { CommandInput } from '../../body/command-input.ts';
import { parseFileArguments } from '../../body/file-arguments.ts';
import { usageFailure } from '../../errors.ts';
import { flagName } from '../../fields/field.ts';
import { type FlagValues, getArrayFlag, getBooleanFlag, getStringFlag } from '../../flag.ts';
import { type JsonPath, parseJsonPath } from '../../json/json-path.ts';

/** The flags of a training job that concern its trajectories. */
export interface TrainingFlags {
  /** The files with groups; none if the groups are in the body. */
  readonly files: readonly string[];
  /** The path of the value that single trajectories are grouped by. */
  readonly groupByPath: JsonPath | undefined;
  /** Input that can be read only once is copied before it is sent. */
  readonly isSpooled: boolean;
  /** The groups are on the command line. */
  readonly isInline: boolean;
}

/** Reads the flags of a training job. Throws usage if they contradict each other. */
export function readTrainingFlags({ operation, args, flags }: CommandInput): TrainingFlags {
  const { files } = parseFileArguments(operation, args, flags);
  const isInline = files.length === 0 && flags.has(flagName('trajectory_groups'));
  if (!isInline && getArrayFlag(flags, 'set').some((assignment) => /^trajectory_groups\s*[.[:=]/.test(assignment)))
    throw usageFailure('--set cannot change trajectories in a file', 'edit the file');
  const groupByPath = parseGroupByPath(flags);
  if (groupByPath && files.length === 0)
    throw usageFailure(
      '--group-by needs files with one trajectory per line',
      'name them: svc train runs.jsonl --group-by ...',
    );
  return { files, groupByPath, isSpooled: getBooleanFlag(flags, 'spool') !== false, isInline };
}

/** The path of `--group-by`. Throws usage where it is not valid. */
export function parseGroupByPath(flags: FlagValues): JsonPath | undefined {
  const text = getStringFlag(flags, 'group-by');
  if (text === undefined) return undefined;
  const path = parseJsonPath(text);
  if (path) return path;
  throw usageFailure(`--group-by: ${JSON.stringify(text)} is not a valid path`, 'write a path such as metadata.task');
}
