import type { CommandInput } from '../../body/command-input.ts';
import { parseFileArguments } from '../../body/file-arguments.ts';
import { usageFailure } from '../../errors.ts';
import { flagName } from '../../fields/field.ts';
import { getArrayFlag, getBooleanFlag, getStringFlag } from '../../flag.ts';
import { type JsonPath, parseJsonPath } from '../../json/json-path.ts';

/** What the flags of a training job say about its trajectories. */
export interface TrainingFlags {
  /** The files with groups; none where they are in the body. */
  readonly files: readonly string[];
  /** Where in a trajectory that stands alone it says which group it belongs to. */
  readonly groupByPath: JsonPath | undefined;
  /** What can be read once only is copied before it is sent. */
  readonly isSpooled: boolean;
  /** The groups stand on the command line. */
  readonly isInline: boolean;
}

/** Reads the flags of a training job. Throws usage where they ask for what cannot be done. */
export function readTrainingFlags({ operation, args, flags }: CommandInput): TrainingFlags {
  const { files } = parseFileArguments(operation, args, flags);
  const isInline = files.length === 0 && flags.has(flagName('trajectory_groups'));
  if (!isInline && getArrayFlag(flags, 'set').some((assignment) => /^trajectory_groups\s*[.[:=]/.test(assignment)))
    throw usageFailure('--set cannot change trajectories that are read from a file', 'change them in the file');
  const groupByText = getStringFlag(flags, 'group-by');
  const groupByPath = groupByText === undefined ? undefined : parseJsonPath(groupByText);
  if (groupByText !== undefined && !groupByPath)
    throw usageFailure(`--group-by cannot read ${JSON.stringify(groupByText)}`, 'write a path, such as metadata.task');
  if (groupByPath && files.length === 0)
    throw usageFailure(
      '--group-by is for files with a trajectory a line',
      'name them: svc train runs.jsonl --group-by ...',
    );
  return { files, groupByPath, isSpooled: getBooleanFlag(flags, 'spool') !== false, isInline };
}
