import { type Built, buildBody } from '../../body/build.ts';
import { inputsOf } from '../../body/inputs.ts';
import type { Context } from '../../cli/context.ts';
import { type Checked, trainingFiles } from '../../trajectories/training.ts';
import type { TrainingFlags } from './flags.ts';
import type { TrainingRequest } from './job.ts';
import type { Sources } from './sources.ts';
import { readWhole, type Whole } from './whole.ts';

/** A draft without its trajectories, and where they come from, if they are not in it. */
export interface Gathered {
  readonly built: Built;
  readonly trajectories: Checked | undefined;
  /** They come from the body of `-f` or stdin. */
  readonly whole: Whole | undefined;
  /** What was named on the command line, for telling later what was sent. */
  readonly files: readonly string[];
}

/** Makes the draft of a training job and opens its files; a whole body that can be read again has been read. Throws as buildBody and openSource do. */
export async function gather(
  { given, build }: TrainingRequest,
  flags: TrainingFlags,
  sources: Sources,
  context: Context,
): Promise<Gathered> {
  const { runtime, signal, report } = context;
  let whole: Whole | undefined;
  const inputs = {
    ...inputsOf(runtime, signal, report.note),
    whole: async (path?: string) => {
      whole = await readWhole(await sources.open(path), given, context);
      return whole.named;
    },
  };
  const built = await buildBody(given, build, { inputs, now: runtime.now, randomBytes: runtime.randomBytes });
  if (flags.files.length === 0) {
    const from = flags.isTyped ? undefined : whole;
    return { built, trajectories: from, whole: from, files: whole ? [whole.named.label] : [] };
  }
  const files = await sources.openAll(flags.files);
  return { built, trajectories: trainingFiles(files, flags.groupBy), whole: undefined, files: flags.files };
}
