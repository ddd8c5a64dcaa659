import { type BuiltBody, buildBody } from '../../body/build-body.ts';
import type { LabeledBytes } from '../../body/command-input.ts';
import { createBodyDependencies } from '../../body/input-reader.ts';
import { isYamlFile } from '../../body/json-source.ts';
import type { Context } from '../../context.ts';
import { type CheckedContent, checkedFilesContent } from '../../train/stream/checked-content.ts';
import { readTrainingBody, type TrainingBody } from './training-body.ts';
import type { TrainingFlags } from './training-flags.ts';
import type { TrainingRequest } from './training-request.ts';
import type { TrajectorySources } from './trajectory-sources.ts';

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
  { input, buildOptions, timeoutMs }: TrainingRequest,
  flags: TrainingFlags,
  sources: TrajectorySources,
  context: Context,
): Promise<TrainingInput> {
  let trainingBody: TrainingBody | undefined;
  let whole: LabeledBytes | undefined;
  const dependencies = createBodyDependencies(context, timeoutMs);
  const { inputs: reader } = dependencies;
  const inputs = {
    ...reader,
    whole: async (path?: string) => {
      // YAML is not streamed; its trajectories are in the draft.
      if (path !== undefined && isYamlFile(path)) whole = await reader.whole(path);
      else {
        trainingBody = await readTrainingBody(await sources.open(path), input, context);
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
  return {
    built,
    trajectories: checkedFilesContent(await sources.openAll(flags.files), flags.groupByPath),
    trainingBody: undefined,
    files: flags.files,
  };
}
