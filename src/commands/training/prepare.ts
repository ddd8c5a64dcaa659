import type { Context } from '../../cli/context.ts';
import { keepHeapSmall } from '../../trajectories/small-heap.ts';
import { readTrainingFlags } from './flags.ts';
import { gather } from './gather.ts';
import type { Training, TrainingRequest } from './job.ts';
import { prepared } from './prepared.ts';
import { sourcesOf } from './sources.ts';

/**
 * Makes the body of a training job, in memory for one trajectory. Its files are read twice: now they are checked, counted
 * and hashed, and again when the body is asked for. Under `--no-spool` what can be read once only is checked while it is
 * sent, and the end is withheld until then. Throws Failure: usage, `local` for files, `body`.
 */
export async function prepareTraining(request: TrainingRequest, context: Context): Promise<Training> {
  keepHeapSmall();
  const flags = readTrainingFlags(request.given);
  const sources = sourcesOf(context, flags.isSpooled || request.isShown);
  try {
    const gathered = await gather(request, flags, sources, context);
    return { ...(await prepared(gathered, request, context)), close: sources.close };
  } catch (error) {
    await sources.close();
    throw error;
  }
}
