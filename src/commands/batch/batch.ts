import { setMaxListeners } from 'node:events';
import { dirname, resolve } from 'node:path';
import { createBatchIdentity } from '../../batch/batch-identity.ts';
import { type BatchInput, openBatchInput } from '../../batch/batch-input.ts';
import type { LineObservers } from '../../batch/batch-job.ts';
import { readBatchOptions } from '../../batch/batch-options.ts';
import { checkBatch } from '../../batch/check-batch.ts';
import type { CheckpointPath } from '../../batch/compact-checkpoint.ts';
import { compareInput } from '../../batch/compare-input.ts';
import { readLineDefaults } from '../../batch/line-defaults.ts';
import { createCustomIdTracker, createResponseWarnings, createWarningLimiter } from '../../batch/line-warnings.ts';
import { createOutageMonitor } from '../../batch/outage.ts';
import { openPriorResults, type PriorResults } from '../../batch/prior-results.ts';
import { createRateLimiter } from '../../batch/rate-limiter.ts';
import { createOrderedSlots, createUnorderedSlots } from '../../batch/result-order.ts';
import { createStreamStore, openResultStore } from '../../batch/result-store.ts';
import { runLines } from '../../batch/run-lines.ts';
import { fillShardInFiles, type Shard } from '../../batch/shard.ts';
import { createAutofill } from '../../body/autofill.ts';
import { createBodyCheck } from '../../body/body-check.ts';
import { createBodyDependencies } from '../../body/input-reader.ts';
import { namedInputs, stdinClaim } from '../../body/named-inputs.ts';
import { resolveAutofill, resolveCallSettings } from '../../client/call-settings.ts';
import { authorizeRequest, type Destination, missingBaseUrl } from '../../client/destination.ts';
import { readChatExpectations } from '../../client/expectations/chat-expectations.ts';
import { checkJunitFile, openJunitReport } from '../../client/expectations/junit-report.ts';
import { openTransport } from '../../client/open-transport.ts';
import { createRequestTarget } from '../../client/request-context.ts';
import { createRetryBudget } from '../../client/retry-budget.ts';
import type { Invocation } from '../../command.ts';
import type { Context } from '../../context.ts';
import { Failure, InterruptedError, usageFailure } from '../../errors.ts';
import { uuidV7 } from '../../fields/uuid.ts';
import { isReplaceable } from '../../files/file-replacement.ts';
import { rejectReplacedInput } from '../../files/reject-replaced-input.ts';
import { type FlagValues, getBooleanFlag, getStringFlag } from '../../flag.ts';
import { linkAbort } from '../../http/link-abort.ts';
import { flagTarget, type Operation } from '../../operations/operation.ts';
import { openSink, type Sink } from '../../output/sink.ts';
import { filteredSink, type JqFilter } from '../../results/jq-filter.ts';
import { chooseFormat } from '../../results/output-format.ts';
import { openResultFilter } from '../../results/print-result.ts';
import { readParent } from '../../trace/trace-context.ts';

/**
 * Sends each line of a file as a body of an operation. Throws usage for flags that do not fit, Failure `guard` for a
 * checkpoint of another batch, `partial` where lines failed, and the reason for ending early.
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
  const inputs = namedInputs(operation, args, flags).map(({ path }) => path);
  await rejectReplacedInput('-o', output, inputs, runtime.cwd);
  const tools = createBodyDependencies(context, callSettings.timeoutMs);
  const defaults = await readLineDefaults(operation, flags, tools);
  const fileInput = await openBatchInput(batchOptions.input, runtime, operation.largestBody, callSettings.timeoutMs);
  const expectations = await readChatExpectations(flags, tools.inputs.read, context.suspendSignals);
  const newRunId = uuidV7(runtime.now(), runtime.randomBytes(10));
  const settings = await resolveAutofill(options, chosen, runtime);
  const parent = settings && operation.continuesTrace ? await readParent(flags, runtime.env, report) : undefined;
  const check = await createBodyCheck(operation, options);
  const lineChecksFor = (runId: string) => ({
    operation,
    defaults,
    settings,
    parent,
    fill: createAutofill(flagTarget(operation)),
    run: runId,
    tools,
    label: fileInput.label,
    check,
    onWarning: createWarningLimiter(report),
    customIds: createCustomIdTracker(fileInput.label, report),
  });
  if (options.previewFormat)
    return await checkBatch(
      fileInput,
      batchOptions,
      lineChecksFor(newRunId),
      chooseFormat('record', flags, context.stdout.isTerminal),
      context,
    );
  const { url } = destination;
  if (!url) throw missingBaseUrl();
  const identity = createBatchIdentity(operation, url, batchOptions.shard, defaults, settings, parent);
  if ((output === undefined || output === '-') && runtime.isStdoutClosed())
    throw new Failure('local', 'stdout is closed, so nobody could read the results', {
      hint: 'write them to a file with -o',
      applied: 'no',
    });
  await checkJunitFile(fileFlags, runtime.cwd);
  const resultFile = await resolveResultFile(output, runtime.cwd);
  if (resultFile && filter)
    throw usageFailure(`--jq would filter ${output}, the checkpoint of the batch`, 'remove --jq, or -o');
  if (!resultFile && batchOptions.isResumed)
    throw usageFailure(
      `--resume needs the output file of the earlier run, and ${output} is not a regular file`,
      'name that file with -o',
    );
  // The files are compared before a line or a credential is checked; nothing is written before there is a credential.
  const { canAcceptChanges, isResumed } = batchOptions;
  const prior =
    resultFile &&
    (await openPriorResults(resultFile, { identity, newRunId, isResumed, canAcceptChanges }, runtime, report));
  const prepareRun = async () => {
    const compared = prior && (await compareWithPrior(fileInput, batchOptions.shard, prior, signal));
    return { ...compared, authorization: await authorizeRequest(operation, url, callSettings, context) };
  };
  const {
    input = fileInput,
    removedLines = new Set(),
    authorization,
  } = await prepareRun().catch(async (error: unknown) => {
    fileInput.stop();
    await prior?.release();
    throw error;
  });
  const resultStore = prior
    ? await openResultStore(prior, removedLines)
    : createStreamStore(newRunId, identity, await openStreamSink(output, filter, context));
  const { controller: stopController } = linkAbort(signal);
  setMaxListeners(0, stopController.signal);
  const observerFor = await createLineObservers(operation, destination, flags, fileInput.label, context);
  const junit = await openJunitReport(fileFlags, context);
  const transport = await openTransport(callSettings.route, context, true);
  try {
    await runLines(input, batchOptions, {
      ...lineChecksFor(resultStore.runId),
      destination,
      target: createRequestTarget(url, chosen, authorization),
      flagHeaders: options.headers,
      send: transport.send,
      finishConnections: async () => transport.finishIdle?.(),
      rateLimiter: createRateLimiter(batchOptions.rateLimits, runtime, stopController.signal),
      outage: createOutageMonitor(batchOptions.maxOutageMs, runtime, {
        onStart: ({ message }) =>
          void report.note(`${message}; the batch waits and tries again with one line at a time`),
        onGiveUp: () => stopController.abort(new InterruptedError('SIGINT')),
      }),
      stopController,
      retryBudget: createRetryBudget(),
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
  return createLineObserver(destination, getBooleanFlag(flags, 'allow-duplicate') === true, label, context);
}

// Nothing is read twice where no earlier run left anything.
async function compareWithPrior(
  fileInput: BatchInput,
  shard: Shard,
  prior: PriorResults,
  signal: AbortSignal,
): Promise<{ input?: BatchInput; removedLines?: ReadonlySet<number> }> {
  if (prior.lineIndex.size() === 0 && (prior.inFlight?.lines.size ?? 0) === 0) return {};
  const [compared, input] = await fileInput.twice(dirname(prior.path), signal);
  return { input, removedLines: await compareInput(compared, shard, prior) };
}

// A regular file is a checkpoint; a pipe or a device takes the results and cannot be resumed.
async function resolveResultFile(output: string | undefined, cwd: string): Promise<CheckpointPath | undefined> {
  if (output === undefined || output === '-') return undefined;
  const path = resolve(cwd, output);
  return (await isReplaceable(path)) ? { path, displayPath: output } : undefined;
}

async function openStreamSink(
  output: string | undefined,
  filter: JqFilter | undefined,
  { stdout, runtime }: Context,
): Promise<Sink> {
  const sink = await openSink(output, stdout, runtime.cwd);
  return filter ? filteredSink(sink, filter, { applied: 'yes' }) : sink;
}
