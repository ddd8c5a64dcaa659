import { createBatchIdentity } from '../../batch/batch-identity.ts';
import { openBatchInput } from '../../batch/batch-input.ts';
import type { LineObservers } from '../../batch/batch-job.ts';
import { readBatchOptions } from '../../batch/batch-options.ts';
import { checkBatch } from '../../batch/check-batch.ts';
import { createTurns } from '../../batch/concurrency-limit.ts';
import { createCustomIdTracker } from '../../batch/custom-id-tracker.ts';
import { readLineDefaults } from '../../batch/line-defaults.ts';
import { createResponseWarnings, createWarningLimiter } from '../../batch/line-warnings.ts';
import { createOutageMonitor } from '../../batch/outage.ts';
import type { LineChecks } from '../../batch/prepare-line.ts';
import { createRateLimiter } from '../../batch/rate-limiter.ts';
import { createOrderedSlots, createUnorderedSlots } from '../../batch/result-order.ts';
import { runLines } from '../../batch/run-lines.ts';
import { fillShardInFiles } from '../../batch/shard.ts';
import { createAutofill } from '../../body/autofill.ts';
import { createBodyCheck } from '../../body/body-check.ts';
import { createBodyDependencies } from '../../body/input-reader.ts';
import { rejectReplacedInputs, stdinClaim } from '../../body/named-inputs.ts';
import { resolveAutofill, resolveCallSettings } from '../../client/call-settings.ts';
import { authorizeRequest, type Destination, missingBaseUrl } from '../../client/destination.ts';
import { readChatExpectations } from '../../client/expectations/chat-expectations.ts';
import { checkJunitFile, openJunitReport } from '../../client/expectations/junit-report.ts';
import { openTransport } from '../../client/open-transport.ts';
import { createRequestTarget } from '../../client/request-context.ts';
import type { Invocation } from '../../command.ts';
import type { Context } from '../../context.ts';
import { InterruptedError } from '../../errors.ts';
import { uuidV7 } from '../../fields/uuid.ts';
import { type FlagValues, getStringFlag, isFlagOn } from '../../flag.ts';
import { createDeadline } from '../../http/deadline.ts';
import { linkSignal } from '../../http/exchange-signal.ts';
import { flagTarget, type Operation } from '../../operations/operation.ts';
import { chooseFormat } from '../../results/output-format.ts';
import { openResultFilter } from '../../results/print-result.ts';
import { readParent } from '../../trace/trace-context.ts';
import { compareCheckpoint, openResults, resolveOutput } from './open-results.ts';

/**
 * Sends each line of a file as a body of an operation. Throws usage for flags that do not fit, Failure `guard` for a
 * checkpoint of another batch, `partial` if lines failed, and the reason for ending early.
 */
export async function runBatch(operation: Operation, invocation: Invocation, context: Context): Promise<void> {
  const { runtime, report, signal } = context;
  const { args, flags } = invocation;
  const callSettings = await resolveCallSettings(operation, flags, context);
  const { options, chosen, destination } = callSettings;
  const batchOptions = readBatchOptions(invocation, options, runtime.env);
  const filter = await openResultFilter(flags, context);
  const fileFlags = fillShardInFiles(flags, batchOptions.shard);
  const output = getStringFlag(fileFlags, 'output');
  stdinClaim(operation, args, flags);
  await rejectReplacedInputs(operation, args, fileFlags, runtime.cwd);
  const tools = createBodyDependencies(context, createDeadline(callSettings.timeoutMs, runtime));
  const expectations = await readChatExpectations(flags, tools.inputs.read, context.suspendSignals);
  const defaults = await readLineDefaults(operation, flags, tools);
  const fileInput = await openBatchInput(batchOptions.input, runtime, operation.largestBody, callSettings.timeoutMs);
  const settings = await resolveAutofill(options, chosen, runtime);
  const lineChecks: LineChecks = {
    operation,
    defaults,
    settings,
    parent: settings && operation.continuesTrace ? await readParent(flags, runtime.env, report) : undefined,
    fill: createAutofill(flagTarget(operation)),
    run: uuidV7(runtime.now(), runtime.randomBytes(10)),
    tools,
    label: fileInput.label,
    check: await createBodyCheck(operation, { ...options, origin: 'batch' }),
    onWarning: createWarningLimiter(report),
    customIds: createCustomIdTracker(fileInput.label, report),
  };
  const previewFormat = options.previewFormat && chooseFormat('record', flags, context.stdout.isTerminal);
  if (previewFormat && !batchOptions.isResumed)
    return await checkBatch(fileInput, batchOptions, lineChecks, previewFormat, context);
  const { url } = destination;
  if (!url) throw missingBaseUrl();
  await checkJunitFile(fileFlags, runtime.cwd);
  const batchOutput = await resolveOutput(output, filter, batchOptions, context);
  const unopened = {
    fileInput,
    identity: createBatchIdentity(url, batchOptions.shard, lineChecks),
    newRunId: lineChecks.run,
    batchOptions,
    authorize: () => authorizeRequest(operation, url, callSettings, context),
  };
  if (previewFormat)
    return await compareCheckpoint(batchOutput, { ...unopened, authorize: async () => {} }, context)
      .then((input) => checkBatch(input, batchOptions, lineChecks, previewFormat, context))
      .finally(fileInput.stop);
  const { input, resultStore, authorization } = await openResults(batchOutput, unopened, context).catch(
    (error: unknown) => {
      fileInput.stop();
      throw error;
    },
  );
  const stopSignal = linkSignal(signal);
  const observerFor = await createLineObservers(operation, destination, flags, fileInput.label, context);
  const junit = await openJunitReport(fileFlags, context);
  const transport = await openTransport(callSettings.route, context, true);
  try {
    await runLines(input, batchOptions, {
      ...lineChecks,
      run: resultStore.runId,
      destination,
      target: createRequestTarget(url, chosen, authorization),
      flagHeaders: options.headers,
      send: transport.send,
      finishConnections: async () => transport.finishIdle?.(),
      rateLimiter: createRateLimiter(batchOptions.rateLimits, runtime, stopSignal.signal),
      takeTurn: createTurns(),
      outage: createOutageMonitor(batchOptions.maxOutageMs, runtime, {
        onStart: ({ message }) => void report.note(`${message}; the batch waits and retries with one line at a time`),
        onGiveUp: () => stopSignal.abort(new InterruptedError('SIGINT')),
      }),
      signal: linkSignal(signal).signal,
      stopSignal,
      maxRetries: callSettings.maxRetries,
      timeoutMs: callSettings.timeoutMs,
      resultStore,
      observerFor,
      openSlot: batchOptions.isOrdered
        ? createOrderedSlots(resultStore.writeEntry)
        : createUnorderedSlots(resultStore.writeEntry),
      canRetryUnknown: batchOptions.canRetryUnknown,
      expectations,
      junit,
      responseWarnings: createResponseWarnings(report),
      isStrict: options.isStrict,
      context,
    });
  } finally {
    fileInput.stop();
    await transport.close();
  }
}

// The training jobs of lines are recorded in the job history; `label` names the input.
async function createLineObservers(
  { arguments: operands }: Operation,
  destination: Destination,
  flags: FlagValues,
  label: string,
  context: Context,
): Promise<LineObservers> {
  if (typeof operands?.as !== 'object') return () => undefined;
  const { createLineObserver } = await import('../train/job-guard.ts');
  return createLineObserver(destination, isFlagOn(flags, 'allow-duplicate'), label, context);
}
