import type { Strictness } from '../../body/body-check.ts';
import { type BuildOptions, type BuiltBody, buildBody } from '../../body/build-body.ts';
import type { CommandInput, LabeledBytes } from '../../body/command-input.ts';
import { parseFileArguments } from '../../body/file-arguments.ts';
import { createBodyDependencies } from '../../body/input-reader.ts';
import { isYamlFile } from '../../body/json-source.ts';
import type { Context } from '../../context.ts';
import { usageFailure } from '../../errors.ts';
import { flagName } from '../../fields/field.ts';
import { type FlagValues, getArrayFlag, getStringFlag, isFlagOn } from '../../flag.ts';
import type { Deadline } from '../../http/deadline.ts';
import { type JsonPath, parseJsonPath } from '../../json/json-node.ts';
import { pluralize } from '../../json/pluralize.ts';
import { type CheckedContent, checkedFilesContent } from '../../train/stream/checked-content.ts';
import type { JobGuard } from './job-guard.ts';
import { readTrainingBody, type TrainingBody } from './training-body.ts';
import type { TrajectorySources } from './trajectory-sources.ts';

/** The input of a training job. */
export interface TrainingRequest {
  readonly input: CommandInput;
  readonly buildOptions: BuildOptions;
  readonly strictness: Strictness;
  /** The deadline for input that is not a file. */
  readonly deadline: Deadline;
  /** Called before the job is sent. */
  readonly guard: JobGuard;
}

/** A draft, and the trajectories that are not in it. */
export interface TrainingInput {
  readonly built: BuiltBody;
  readonly trajectories: CheckedContent | undefined;
  /** The body of `-f` or stdin, if the trajectories are in it. */
  readonly trainingBody: TrainingBody | undefined;
  /** The files of the command line, for the job history. */
  readonly files: readonly string[];
}

/** Builds the draft of a training job and opens its files; reads a whole body that can be read again. Throws as buildBody and openTextSource do. */
export async function gatherTrainingInput(
  { input, buildOptions, deadline }: TrainingRequest,
  flags: ReturnType<typeof readTrainingFlags>,
  sources: TrajectorySources,
  context: Context,
): Promise<TrainingInput> {
  let trainingBody: TrainingBody | undefined;
  let whole: LabeledBytes | undefined;
  const dependencies = createBodyDependencies(context, deadline);
  const { inputs: reader } = dependencies;
  const inputs = {
    ...reader,
    whole: async (path?: string) => {
      // YAML is not streamed; its trajectories are in the draft.
      if (path !== undefined && isYamlFile(path)) whole = await reader.whole(path);
      else {
        trainingBody = await readTrainingBody(await sources.open(path), context);
        whole = trainingBody.envelope;
      }
      return whole;
    },
  };
  const built = await buildBody(input, buildOptions, { ...dependencies, inputs });
  if (flags.files.length === 0) {
    const bodyContent = flags.isInline ? undefined : trainingBody;
    return { built, trajectories: bodyContent, trainingBody: bodyContent, files: whole ? [whole.label] : [] };
  }
  const replaced = trainingBody?.checks.groupCount() ?? 0;
  if (whole && replaced > 0) {
    const groups = `${replaced} ${pluralize(replaced, 'group')} of ${whole.label}`;
    await context.report.warn(`the files replace the ${groups}; to send both, give all groups as files`);
  }
  return {
    built,
    trajectories: checkedFilesContent(await sources.openAll(flags.files), flags.groupByPath),
    trainingBody: undefined,
    files: flags.files,
  };
}

/**
 * The files of a training job, none if the groups are in the body or, `isInline`, on the command line. Throws usage if
 * flags contradict each other.
 */
export function readTrainingFlags({ operation, args, flags }: CommandInput) {
  const { files } = parseFileArguments(operation, args, flags);
  const isSet = getArrayFlag(flags, 'set').some((assignment) => /^trajectory_groups\s*[.[:=]/.test(assignment));
  const hasWholeBody = flags.has('file') || isFlagOn(flags, 'stdin');
  const isInline = files.length === 0 && (flags.has(flagName('trajectory_groups')) || (isSet && !hasWholeBody));
  if (isSet && !isInline) throw usageFailure('--set cannot change trajectories in a file', 'edit the file');
  const groupByPath = parseGroupByPath(flags);
  if (groupByPath && files.length === 0)
    throw usageFailure(
      '--group-by needs files with one trajectory per line',
      'name them: svc train runs.jsonl --group-by ...',
    );
  return { files, groupByPath, isInline };
}

/** The path of `--group-by`. Throws usage if it is not valid. */
export function parseGroupByPath(flags: FlagValues): JsonPath | undefined {
  const text = getStringFlag(flags, 'group-by');
  if (text === undefined) return undefined;
  const path = parseJsonPath(text);
  if (path) return path;
  throw usageFailure(`--group-by: ${JSON.stringify(text)} is not a valid path`, 'write a path such as metadata.task');
}
