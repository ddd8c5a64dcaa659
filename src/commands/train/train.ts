import { prepareRequest } from '../../client/request.ts';
import { dataDirectory } from '../../config/directories.ts';
import { isFlagOn } from '../../flag.ts';
import { trainOperation } from '../../operations/train.ts';
import { keepHeapSmall } from '../../train/stream/small-heap.ts';
import { createTrajectorySources } from '../../train/stream/source.ts';
import { requestCommand, requireInputs } from '../operation/request-command.ts';
import { readHooks } from '../operation/response-hooks.ts';
import { sendAndShow } from '../operation/send-and-show.ts';
import { showRequest } from '../operation/show-request.ts';
import { createJobGuard, isHarmless } from './job-guard.ts';
import { checkTraining, readTrainingInput } from './training-body.ts';

/** Creates a training job: settings, a body that may be larger than memory, checks, guard against duplicates, send, show. */
export const runTrain = requestCommand(trainOperation, async (start, context) => {
  await requireInputs(start, context);
  const { settings, flags, deadline } = start;
  const hooks = await readHooks(start, context);
  keepHeapSmall();
  const sources = createTrajectorySources(context, dataDirectory(context.runtime), deadline);
  try {
    const input = await readTrainingInput(start, sources, context);
    const { draft, body, job } = await checkTraining(input, settings, context);
    const request = prepareRequest(settings, draft, body);
    if (settings.previewFormat) return await showRequest(request, settings, context);
    const guard = createJobGuard(job, isFlagOn(flags, 'allow-duplicate') || isHarmless(settings), context);
    await sendAndShow(request, { ...start, hooks, guard }, context);
  } finally {
    await sources.close();
  }
});
