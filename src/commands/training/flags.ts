import { filesGiven } from '../../body/files.ts';
import type { Given } from '../../body/given.ts';
import { usage } from '../../errors.ts';
import { flagName } from '../../fields/field.ts';
import { isOn, listOf, textOf } from '../../fields/flag.ts';
import { type Path, parsePath } from '../../json/path.ts';

/** What the flags of a training job say about its trajectories. */
export interface TrainingFlags {
  /** The files with groups; none where they are in the body. */
  readonly files: readonly string[];
  /** Where in a trajectory that stands alone it says which group it belongs to. */
  readonly groupBy: Path | undefined;
  /** What can be read once only is copied before it is sent. */
  readonly isSpooled: boolean;
  /** The groups stand on the command line. */
  readonly isTyped: boolean;
}

/** Reads the flags of a training job. Throws usage where they ask for what cannot be done. */
export function readTrainingFlags({ operation, args, flags }: Given): TrainingFlags {
  const { files } = filesGiven(operation, args, flags);
  const isTyped = files.length === 0 && flags.has(flagName('trajectory_groups'));
  if (!isTyped && listOf(flags, 'set').some((word) => /^trajectory_groups\s*[.[:=]/.test(word)))
    throw usage('--set cannot change trajectories that are read from a file', 'change them in the file');
  const word = textOf(flags, 'group-by');
  const groupBy = word === undefined ? undefined : parsePath(word);
  if (word !== undefined && !groupBy)
    throw usage(`--group-by cannot read ${JSON.stringify(word)}`, 'write a path, such as metadata.task');
  if (groupBy && files.length === 0)
    throw usage('--group-by is for files with a trajectory a line', 'name them: svc train runs.jsonl --group-by ...');
  return { files, groupBy, isSpooled: isOn(flags, 'spool') !== false, isTyped };
}
