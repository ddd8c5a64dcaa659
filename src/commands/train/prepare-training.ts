import type { Context } from '../../context.ts';
import { keepHeapSmall } from '../../train/stream/small-heap.ts';
import { prepareTrainingBody } from './prepare-training-body.ts';
import { readTrainingFlags } from './training-flags.ts';
import { gatherTrainingInput } from './training-input.ts';
import type { PreparedTraining, TrainingRequest } from './training-request.ts';
import { createTrajectorySources } from './trajectory-sources.ts';

/**
 * Makes the body of a training job, in memory for one trajectory. Its files are read twice: now they are checked, counted
 * and hashed, and again when the body is asked for. Under `--no-spool` what can be read once only is checked while it is
 * sent, and the end is withheld until then. Throws Failure: usage, `local` for files, `body`.
 */
export async function prepareTraining(request: TrainingRequest, context: Context): Promise<PreparedTraining> {
  keepHeapSmall();
  const flags = readTrainingFlags(request.input);
  const sources = createTrajectorySources(context, flags.isSpooled || request.isPreview);
  try {
    const input = await gatherTrainingInput(request, flags, sources, context);
    return { ...(await prepareTrainingBody(input, request, context)), close: sources.close };
  } catch (error) {
    await sources.close();
    throw error;
  }
}
