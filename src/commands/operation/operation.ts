import { enforceChecks } from '../../body/body-check.ts';
import { buildBody } from '../../body/build-body.ts';
import { createBodyDependencies } from '../../body/input-reader.ts';
import { prepareRequest } from '../../client/request.ts';
import type { RunCommand } from '../../command.ts';
import type { Context } from '../../context.ts';
import { type FlagValues, isFlagOn } from '../../flag.ts';
import type { Operation } from '../../operations/operation.ts';
import { createTraceContext, readParent } from '../../trace/trace-context.ts';
import { requestCommand } from './request-command.ts';
import { readHooks } from './response-hooks.ts';
import { sendAndShow } from './send-and-show.ts';
import { showRequest } from './show-request.ts';

export function runOperation(operation: Operation): RunCommand {
  return requestCommand(operation, async (start, context) => {
    const { settings, flags, input, deadline } = start;
    const hooks = await readHooks(start, context);
    const fill = settings.isExact
      ? undefined
      : { ...settings.defaults, ...(await readTrace(operation, flags, context)) };
    const dependencies = createBodyDependencies(context, deadline);
    const built = await buildBody(input, { settings: fill, conversation: undefined }, dependencies);
    await enforceChecks(built.draft, operation, built.inputIssues, settings, context.report);
    const request = prepareRequest(settings, built.draft);
    if (settings.previewFormat) await showRequest(request, settings, context);
    else await sendAndShow(request, { ...start, hooks }, context);
  });
}

// Without a parent and --export, ids are UUIDs. The exported id of a call has the shape of TRACEPARENT in any trace.
async function readTrace({ continuesTrace }: Operation, flags: FlagValues, context: Context) {
  const parent = continuesTrace ? await readParent(flags, context) : undefined;
  const isExported = isFlagOn(flags, 'export');
  if (!parent && !isExported) return {};
  const trace = createTraceContext(parent, context.runtime);
  return { trace, callId: isExported ? trace.callId : undefined };
}
