import { type BatchInput, openBatchInput } from '../../batch/batch-input.ts';
import type { BatchJob } from '../../batch/batch-job.ts';
import { createBatchIdentity } from '../../batch/batch-journal.ts';
import { type BatchOptions, readBatchOptions } from '../../batch/batch-options.ts';
import { checkBatch } from '../../batch/check-batch.ts';
import { createCustomIdTracker, createResponseWarnings, createWarningLimiter } from '../../batch/line-warnings.ts';
import { type LineChecks, readLineDefaults } from '../../batch/prepare-line.ts';
import { type BatchEnd, reportBatch, runLines } from '../../batch/run-lines.ts';
import { createScheduler } from '../../batch/scheduler.ts';
import { fillShardInFiles } from '../../batch/shard.ts';
import { createAutofill } from '../../body/autofill.ts';
import { createBodyCheck } from '../../body/body-check.ts';
import { createBodyDependencies } from '../../body/input-reader.ts';
import { rejectReplacedInputs, stdinClaim } from '../../body/named-inputs.ts';
import { type CallSettings, resolveAutofill, resolveCallSettings } from '../../client/call-settings.ts';
import { type Authorization, authorizeRequest, type Destination, missingBaseUrl } from '../../client/destination.ts';
import { readChatExpectations } from '../../client/expectations/chat-expectations.ts';
import { checkJunitFile, openJunitReport } from '../../client/expectations/junit-report.ts';
import { openTransport } from '../../client/open-transport.ts';
import { createRequestTarget } from '../../client/request-context.ts';
import type { Invocation } from '../../command.ts';
import type { Context } from '../../context.ts';
import { uuidV7 } from '../../fields/uuid.ts';
import { type FlagValues, getStringFlag, isFlagOn } from '../../flag.ts';
import { createDeadline } from '../../http/deadline.ts';
import { linkSignal } from '../../http/exchange-signal.ts';
import { flagTarget, type Operation } from '../../operations/operation.ts';
import { chooseFormat } from '../../results/output-format.ts';
import { openResultFilter } from '../../results/print-result.ts';
import { readParent } from '../../trace/trace-context.ts';
import { compareResults, openResults, resolveOutput } from './open-results.ts';

/**
 * Sends each line of a file as a body of an operation. Throws usage for flags that do not fit, Failure `guard` for a
 * output of another batch, `partial` if lines failed, and the reason for ending early.
 */
export async function runBatch(operation: Operation, invocation: Invocation, context: Context): Promise<void> {
  const { runtime, report } = context;
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
    newRun: lineChecks.run,
    batchOptions,
    authorize: () => authorizeRequest(operation, url, callSettings, context),
  };
  if (previewFormat)
    return await compareResults(batchOutput, { ...unopened, authorize: async () => {} }, context)
      .then((input) => checkBatch(input, batchOptions, lineChecks, previewFormat, context))
      .finally(fileInput.stop);
  const { input, resultStore, authorization } = await openResults(batchOutput, unopened, context).catch(
    (error: unknown) => {
      fileInput.stop();
      throw error;
    },
  );
  const guardFor = await createLineGuards(
    operation,
    destination,
    flags,
    fileInput.label,
    resultStore.batch.run,
    context,
  );
  const junit = await openJunitReport(fileFlags, context);
  try {
    const batch = {
      ...lineChecks,
      ...callSettings,
      run: resultStore.batch.run,
      url,
      authorization,
      resultStore,
      guardFor,
      expectations,
      junit,
      responseWarnings: createResponseWarnings(report),
    };
    await reportBatch(await sendBatch(input, batchOptions, batch, context));
  } finally {
    fileInput.stop();
  }
}

/** A batch whose lines are to be sent. */
type ReadyBatch = LineChecks &
  CallSettings &
  Pick<BatchJob, 'resultStore' | 'guardFor' | 'expectations' | 'junit' | 'responseWarnings' | 'onResult'> & {
    readonly url: URL;
    readonly authorization: Authorization | undefined;
  };

/** Sends the lines of an input over connections of their own. */
export async function sendBatch(
  input: BatchInput,
  batchOptions: BatchOptions,
  { options, chosen, url, authorization, route, ...batch }: ReadyBatch,
  context: Context,
): Promise<BatchEnd> {
  const { runtime, report, signal } = context;
  const scheduler = createScheduler(batchOptions, runtime, signal, {
    onOutage: ({ message }) => void report.note(`${message}; the batch waits and retries with one line at a time`),
    // The rest of a file is counted; a pipe may never end.
    onStop: () => {
      if (input.totalBytes === undefined) input.stop();
    },
  });
  const transport = await openTransport(route, context, true);
  try {
    const job: BatchJob = {
      ...batch,
      target: createRequestTarget(url, chosen, authorization),
      flagHeaders: options.headers,
      send: transport.send,
      finishConnections: async () => transport.finishIdle?.(),
      scheduler,
      signal: linkSignal(signal).signal,
      canRetryUnknown: batchOptions.canRetryUnknown,
      isStrict: options.isStrict,
      context,
    };
    return await runLines(input, batchOptions, job);
  } finally {
    await transport.close();
  }
}

// The training jobs of lines are recorded in the job history; `label` names the input.
async function createLineGuards(
  { arguments: operands }: Operation,
  destination: Destination,
  flags: FlagValues,
  label: string,
  run: string,
  context: Context,
): Promise<BatchJob['guardFor']> {
  if (typeof operands?.as !== 'object') return () => undefined;
  const { createLineGuards: createGuards } = await import('../train/job-guard.ts');
  return createGuards(destination, isFlagOn(flags, 'allow-duplicate'), label, run, context);
}
