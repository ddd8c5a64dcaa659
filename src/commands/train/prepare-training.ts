import type { Context } from '../../context.ts';
import { keepHeapSmall } from '../../train/stream/small-heap.ts';
import { prepareTrainingBody } from './prepare-training-body.ts';
import { readTrainingFlags } from './training-flags.ts';
import { gatherTrainingInput } from './training-input.ts';
import type { PreparedTraining, TrainingRequest } from './training-request.ts';
import { createTrajectorySources } from './trajectory-sources.ts';

/**
 * Prepares the body of a training job; memory is bounded by one trajectory. Files are read twice: now to check, count and hash
 * them, and again when the body is sent. With `--no-spool`, input that can be read only once is checked while it is sent,
 * and its end is withheld until the checks pass. Throws Failure: usage, `local` for files, `body`.
 */
export async function prepareTraining(request: TrainingRequest, context: Context): Promise<PreparedTraining> {
  keepHeapSmall();
  const flags = readTrainingFlags(request.input);
  const sources = createTrajectorySources(context, flags.isSpooled || request.isPreview, request.timeoutMs);
  try {
    const input = await gatherTrainingInput(request, flags, sources, context);
    return { ...(await prepareTrainingBody(input, request, context)), close: sources.close };
  } catch (error) {
    await sources.close();
    throw error;
  }
}
