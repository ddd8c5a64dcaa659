import { batchFlags, promptFlags, type RequestOptions } from '../../batch/batch-flags.ts';
import { rejectReplacedInputs, requireBodySource } from '../../body/body-base.ts';
import { enforceChecks } from '../../body/body-check.ts';
import { givenText, readBodyFlags } from '../../body/body-flags.ts';
import { buildBody } from '../../body/build-body.ts';
import { rejectInvalidFlags } from '../../body/flag-edits.ts';
import { createBodyInputs, fileReference } from '../../body/input-reader.ts';
import { likelyMistakes } from '../../body/likely-mistakes.ts';
import { prepareRequest } from '../../client/request.ts';
import { resolveSettings } from '../../client/resolve-settings.ts';
import type { RunCommand } from '../../command.ts';
import type { Context } from '../../context.ts';
import { usageFailure } from '../../errors.ts';
import { type Flag, isGiven } from '../../flag.ts';
import { createDeadline } from '../../http/time-limits.ts';
import { chatOperation } from '../../operations/chat.ts';
import type { Operation } from '../../operations/operation.ts';
import { runFilesOf, withRunReport } from '../../reports/run-report.ts';
import { openResultFilter } from '../../results/print-result.ts';
import { createTraceContext, readParent } from '../../trace/trace-context.ts';
import { type RequestStart, readHooks } from './response-hooks.ts';
import { sendOrShow } from './send-and-show.ts';

/** A command that is a batch with `--batch` or `--rows`, else `runOne` with all settings, before any input is read. */
export function requestCommand(
  operation: Operation,
  runOne: (start: RequestStart, context: Context) => Promise<void>,
): RunCommand<RequestOptions> {
  return async (invocation, context) => {
    const { args, options } = invocation;
    const { runtime } = context;
    const isBatch = options.batch !== undefined || options.rows !== undefined;
    // A training job may be copied to disk as well.
    const isOwn = (name: string): boolean => name === 'max-spool' && typeof operation.arguments?.as === 'object';
    const isMisplaced = ({ name }: Flag): boolean => !isBatch && isGiven(options, name) && !isOwn(name);
    const batchFlag = [...batchFlags, ...promptFlags].find(isMisplaced);
    if (batchFlag)
      throw usageFailure(
        `--${batchFlag.name} works only with --batch or --rows`,
        batchFlag.name === 'prompt'
          ? 'write a single prompt as an argument: svc chat "<prompt>"'
          : batchFlag.name === 'limit' && Object.hasOwn(operation.body, 'sample_limit')
            ? 'write --sample-limit <n>, or for lines --batch <file>'
            : 'write --batch <file>',
      );
    const given = readBodyFlags(operation, options);
    rejectInvalidFlags(operation, given, runtime.now());
    for (const mistake of likelyMistakes(args, given, isBatch, runtime.cwd)) await context.report.warn(mistake);
    fileReference(options.expectSchema ?? '', '--expect-schema');
    if (isBatch) {
      const { runBatch } = await import('../../batch/run-batch.ts');
      return await runBatch(operation, invocation, context);
    }
    const input = { operation, args, given, options, isStdinTerminal: runtime.stdin.isTTY === true };
    // Without a body, a chat may be a session.
    if (operation !== chatOperation) requireBodySource(input);
    const files = runFilesOf(options);
    await rejectReplacedInputs(input, files, runtime.cwd);
    const conversation = givenText(given, 'conversation');
    await withRunReport(files, conversation, `svc ${operation.command.join(' ')}`, context, async (runReport) => {
      const settings = await resolveSettings(operation, options, context);
      const deadline = createDeadline(settings.timeoutMs, runtime, settings.isTimeoutDefault);
      const filter = await openResultFilter(options, context, deadline.remainingMs);
      await runOne({ settings, options, input, deadline, filter, runReport }, context);
    });
  };
}

/** Settings, body, checks, and then the request is sent or shown. */
export function runOperation(operation: Operation): RunCommand<RequestOptions> {
  return requestCommand(operation, async (start, context) => {
    const { settings, options, input, deadline } = start;
    const hooks = await readHooks(start, context);
    const fill = settings.isExact
      ? undefined
      : { ...settings.defaults, ...(await readTrace(operation, options, context)) };
    const draft = await buildBody(input, { settings: fill }, createBodyInputs(context, deadline));
    await enforceChecks(draft, operation, settings, context.report, { findings: hooks?.findings(draft) ?? [] });
    await sendOrShow(prepareRequest(settings, draft), { ...start, hooks }, context);
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
