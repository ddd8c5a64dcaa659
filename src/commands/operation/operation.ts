import type { AutofillSettings } from '../../body/autofill.ts';
import { buildBody } from '../../body/build-body.ts';
import type { Draft } from '../../body/draft.ts';
import { createBodyDependencies } from '../../body/input-reader.ts';
import { enforceChecks } from '../../client/enforce-checks.ts';
import { prepareRequest } from '../../client/request.ts';
import type { RunCommand } from '../../command.ts';
import type { Context } from '../../context.ts';
import { isFlagOn } from '../../flag.ts';
import type { Operation } from '../../operations/operation.ts';
import { createTraceContext, readParent, traceExports } from '../../trace/trace-context.ts';
import { readHooks } from './response-hooks.ts';
import { sendAndShow } from './send-and-show.ts';
import { showRequest } from './show-request.ts';
import { isBatch, type RequestStart, requireInputs, startRequest } from './start-request.ts';

/** Runs an operation: settings, body, checks, send, show. */
export function runOperation(operation: Operation): RunCommand {
  return async (invocation, context) => {
    if (isBatch(operation, invocation, context)) {
      const { runBatch } = await import('../batch/batch.ts');
      return await runBatch(operation, invocation, context);
    }
    const start = await startRequest(operation, invocation, context);
    await requireInputs(start, context);
    const hooks = await readHooks(start, context);
    const draft = await buildCheckedBody(start, context);
    const request = prepareRequest(start.settings, draft);
    if (start.settings.previewFormat) return await showRequest(request, start.settings, context);
    const textOf = isFlagOn(start.flags, 'export') ? traceExports(context.runtime.env, request.ids) : undefined;
    await sendAndShow(request, { ...start, textOf, hooks }, context);
  };
}

async function buildCheckedBody(start: RequestStart, context: Context): Promise<Draft> {
  const { settings, input, deadline } = start;
  const fill = settings.isExact ? undefined : { ...settings.defaults, ...(await readTrace(start, context)) };
  const dependencies = createBodyDependencies(context, deadline);
  const built = await buildBody(input, { settings: fill, conversation: undefined }, dependencies);
  await enforceChecks(built.draft, input.operation, built.inputIssues, settings, context.report);
  return built.draft;
}

// Without a parent and --export, ids are UUIDs. The exported id of a call has the shape of TRACEPARENT in any trace.
async function readTrace(
  { input: { operation }, flags }: RequestStart,
  { runtime, report }: Context,
): Promise<Pick<AutofillSettings, 'trace' | 'callId'>> {
  if (!operation.continuesTrace) return {};
  const parent = await readParent(flags, runtime.env, report);
  const isExported = isFlagOn(flags, 'export');
  if (!parent && !isExported) return {};
  const trace = createTraceContext(parent, runtime);
  return { trace, callId: isExported ? trace.callId : undefined };
}
