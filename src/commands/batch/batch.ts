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
import { type Authorization, readAuthorization } from '../../client/authorization.ts';
import { missingBaseUrl } from '../../client/destination.ts';
import { readChatExpectations } from '../../client/expectations/chat-expectations.ts';
import { checkReportFiles, openRunReport } from '../../client/expectations/run-report.ts';
import { connect } from '../../client/send.ts';
import { resolveSettings, type Settings } from '../../client/settings.ts';
import type { Invocation } from '../../command.ts';
import type { Context } from '../../context.ts';
import { uuidV7 } from '../../fields/uuid.ts';
import { getStringFlag, isFlagOn } from '../../flag.ts';
import { linkSignal } from '../../http/message.ts';
import { createDeadline } from '../../http/time-limits.ts';
import { flagTarget, type Operation } from '../../operations/operation.ts';
import { chooseFormat } from '../../results/output-format.ts';
import { openResultFilter } from '../../results/print-result.ts';
import { readParent } from '../../trace/trace-context.ts';
import { compareResults, openResults, resolveOutput } from './open-results.ts';

/**
 * Sends each line of a file as a body of an operation. Throws usage for flags that do not fit, Failure `safety_check` for the
 * output of another batch, `partly_failed` if lines failed, and the reason for ending early.
 */
export async function runBatch(operation: Operation, invocation: Invocation, context: Context): Promise<void> {
  const { runtime, report } = context;
  const { args, flags } = invocation;
  const settings = await resolveSettings(operation, flags, context);
  const { destination, timeoutMs } = settings;
  const batchOptions = readBatchOptions(invocation, settings, runtime.env);
  const filter = await openResultFilter(flags, context, () => timeoutMs ?? Number.POSITIVE_INFINITY);
  const fileFlags = fillShardInFiles(flags, batchOptions.shard);
  const output = getStringFlag(fileFlags, 'output');
  stdinClaim(operation, args, flags);
  await rejectReplacedInputs(operation, args, fileFlags, runtime.cwd);
  const tools = createBodyDependencies(context, createDeadline(timeoutMs, runtime, settings.isTimeoutDefault));
  const expectations = await readChatExpectations(flags, tools.inputs.read, context.suspendSignals);
  const defaults = await readLineDefaults(operation, flags, tools);
  const fileInput = await openBatchInput(batchOptions.input, runtime, operation.largestBody, timeoutMs);
  const autofill = settings.isExact ? undefined : settings.defaults;
  const lineChecks: LineChecks = {
    operation,
    defaults,
    autofill,
    parent: autofill && operation.continuesTrace ? await readParent(flags, runtime.env, report) : undefined,
    fill: createAutofill(flagTarget(operation)),
    run: uuidV7(runtime.now(), runtime.randomBytes(10)),
    tools,
    label: fileInput.label,
    check: await createBodyCheck(operation, { ...settings, origin: 'batch' }),
    onWarning: createWarningLimiter(report),
    customIds: createCustomIdTracker(fileInput.label, report),
  };
  const previewFormat = settings.previewFormat && chooseFormat('record', flags, context.stdout.isTerminal);
  if (previewFormat && !batchOptions.isResumed)
    return await checkBatch(fileInput, batchOptions, lineChecks, previewFormat, context);
  if (!destination) throw missingBaseUrl();
  await checkReportFiles(fileFlags, runtime.cwd);
  const batchOutput = await resolveOutput(output, filter, batchOptions, context);
  const unopened = {
    fileInput,
    identity: createBatchIdentity(destination.url, batchOptions.shard, lineChecks),
    newRun: lineChecks.run,
    batchOptions,
    authorize: () => readAuthorization(settings, destination, context),
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
  const allowsDuplicate = isFlagOn(flags, 'allow-duplicate');
  const { run } = resultStore.batch;
  try {
    const batch: ReadyBatch = {
      ...lineChecks,
      settings,
      authorization,
      run,
      resultStore,
      guardFor: await createLineGuards(settings, allowsDuplicate, fileInput.label, run, context),
      expectations,
      runReport: await openRunReport(fileFlags, `svc ${operation.command.join(' ')}`, context),
      responseWarnings: createResponseWarnings(report),
    };
    await reportBatch(await sendBatch(input, batchOptions, batch, context));
  } finally {
    fileInput.stop();
  }
}

/** A batch whose lines are to be sent. */
interface ReadyBatch extends Omit<BatchJob, 'connection' | 'scheduler' | 'signal' | 'canRetryUnknown' | 'context'> {
  readonly authorization: Authorization | undefined;
}

/** Sends the lines of an input over connections of their own. */
export async function sendBatch(
  input: BatchInput,
  batchOptions: BatchOptions,
  { authorization, ...batch }: ReadyBatch,
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
  const connection = await connect(batch.settings, context, { isReused: true, authorization });
  const { canRetryUnknown } = batchOptions;
  try {
    const job = { ...batch, connection, scheduler, signal: linkSignal(signal).signal, canRetryUnknown, context };
    return await runLines(input, batchOptions, job);
  } finally {
    await connection.transport.close();
  }
}

// The training jobs of lines are recorded in the job history; `label` names the input.
async function createLineGuards(
  settings: Settings,
  allowsDuplicate: boolean,
  label: string,
  run: string,
  context: Context,
): Promise<BatchJob['guardFor']> {
  if (typeof settings.operation.arguments?.as !== 'object') return () => undefined;
  const { createLineGuards: createGuards } = await import('../train/job-guard.ts');
  return createGuards(settings, allowsDuplicate, label, run, context);
}
