import type { AutofillSettings } from '../../body/autofill.ts';
import { buildBody } from '../../body/build-body.ts';
import type { Draft } from '../../body/draft.ts';
import { createBodyInputs } from '../../body/input-reader.ts';
import { enforceChecks } from '../../client/enforce-checks.ts';
import { prepareRequest } from '../../client/request.ts';
import type { RunCommand } from '../../command.ts';
import type { Context } from '../../context.ts';
import { isFlagOn } from '../../flag.ts';
import type { Operation } from '../../operations/operation.ts';
import { createTraceContext, readParent } from '../../trace/trace-context.ts';
import { type RequestStart, requestCommand, requireInputs } from './request-command.ts';
import { readHooks } from './response-hooks.ts';
import { sendAndShow } from './send-and-show.ts';
import { showRequest } from './show-request.ts';

/** Runs an operation: settings, body, checks, send, show. */
export function runOperation(operation: Operation): RunCommand {
  return requestCommand(operation, async (start, context) => {
    await requireInputs(start, context);
    const hooks = await readHooks(start, context);
    const request = prepareRequest(start.settings, await buildCheckedBody(start, context));
    if (start.settings.previewFormat) await showRequest(request, start.settings, context);
    else await sendAndShow(request, { ...start, hooks }, context);
  });
}

async function buildCheckedBody(start: RequestStart, context: Context): Promise<Draft> {
  const { settings, input, deadline } = start;
  const fill = settings.isExact ? undefined : { ...settings.defaults, ...(await readTrace(start, context)) };
  const draft = await buildBody(input, { settings: fill }, createBodyInputs(context, deadline));
  await enforceChecks(draft, input.operation, settings, context.report);
  return draft;
}

// Without a parent and --export, ids are UUIDs. The exported id of a call has the shape of TRACEPARENT in any trace.
async function readTrace(
  { input: { operation }, flags }: RequestStart,
  context: Context,
): Promise<Pick<AutofillSettings, 'trace' | 'callId'>> {
  if (!operation.continuesTrace) return {};
  const parent = await readParent(flags, context);
  const isExported = isFlagOn(flags, 'export');
  if (!parent && !isExported) return {};
  const trace = createTraceContext(parent, context.runtime);
  return { trace, callId: isExported ? trace.callId : undefined };
}
