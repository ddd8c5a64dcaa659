import type { RequestOptions } from '../../batch/batch-flags.ts';
import { enforceChecks } from '../../body/body-check.ts';
import { buildBody } from '../../body/build-body.ts';
import { createBodyInputs } from '../../body/input-reader.ts';
import { prepareRequest } from '../../client/request.ts';
import type { RunCommand } from '../../command.ts';
import type { Context } from '../../context.ts';
import type { Operation } from '../../operations/operation.ts';
import { createTraceContext, readParent } from '../../trace/trace-context.ts';
import { requestCommand } from './request-command.ts';
import { readHooks } from './response-hooks.ts';
import { sendAndShow } from './send-and-show.ts';
import { showRequest } from './show-request.ts';

export function runOperation(operation: Operation): RunCommand<RequestOptions> {
  return requestCommand(operation, async (start, context) => {
    const { settings, options, input, deadline } = start;
    const hooks = await readHooks(start, context);
    const fill = settings.isExact
      ? undefined
      : { ...settings.defaults, ...(await readTrace(operation, options, context)) };
    const draft = await buildBody(input, { settings: fill }, createBodyInputs(context, deadline));
    await enforceChecks(draft, operation, settings, context.report, { findings: hooks?.findings(draft) ?? [] });
    const request = prepareRequest(settings, draft);
    if (settings.previewFormat) await showRequest(request, settings, context);
    else await sendAndShow(request, { ...start, hooks }, context);
  });
}

// Without a parent and --export, ids are UUIDs. The exported id of a call has the shape of TRACEPARENT in any trace.
async function readTrace(
  { continuesTrace }: Operation,
  { noParent, export: isExported }: RequestOptions,
  context: Context,
) {
  const parent = continuesTrace ? await readParent(noParent, context) : undefined;
  if (!parent && !isExported) return {};
  const trace = createTraceContext(parent, context.runtime);
  return { trace, callId: isExported ? trace.callId : undefined };
}
