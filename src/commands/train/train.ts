import { prepareRequest } from '../../client/request.ts';
import type { RunCommand } from '../../command.ts';
import { isFlagOn } from '../../flag.ts';
import { trainOperation } from '../../operations/train.ts';
import { readHooks } from '../operation/response-hooks.ts';
import { sendAndShow } from '../operation/send-and-show.ts';
import { showRequest } from '../operation/show-request.ts';
import { isBatch, requireInputs, startRequest } from '../operation/start-request.ts';
import { createJobGuard } from './job-guard.ts';
import { prepareTraining } from './prepare-training.ts';

/** Creates a training job: settings, a body that may be larger than memory, checks, guard against duplicates, send, show. */
export const runTrain: RunCommand = async (invocation, context) => {
  if (isBatch(trainOperation, invocation, context)) {
    const { runBatch } = await import('../batch/batch.ts');
    return await runBatch(trainOperation, invocation, context);
  }
  const start = await startRequest(trainOperation, invocation, context);
  await requireInputs(start, context);
  const hooks = await readHooks(start, context);
  const { settings, input, deadline } = start;
  const guard = createJobGuard(settings, isFlagOn(start.flags, 'allow-duplicate'), context);
  const buildOptions = { settings: settings.isExact ? undefined : settings.defaults, conversation: undefined };
  const training = await prepareTraining({ input, buildOptions, strictness: settings, deadline, guard }, context);
  try {
    const request = prepareRequest(settings, training.draft, training.body);
    if (settings.previewFormat) return await showRequest(request, settings, context);
    await sendAndShow(request, { ...start, hooks, observer: training.observer }, context);
  } finally {
    await training.close();
  }
};
