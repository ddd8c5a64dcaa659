import { dirname, resolve } from 'node:path';
import {
  type BatchInput,
  chooseSample,
  type LineSplitter,
  lineSplitter,
  openBatchInput,
} from '../../batch/batch-input.ts';
import type { BatchJob } from '../../batch/batch-job.ts';
import { createBatchIdentity } from '../../batch/batch-journal.ts';
import { type BatchOptions, readBatchOptions } from '../../batch/batch-options.ts';
import { checkBatch, checkLines, requireValidLines } from '../../batch/check-batch.ts';
import { createCustomIdTracker, createResponseWarnings, createWarningLimiter } from '../../batch/line-warnings.ts';
import { type LineChecks, NO_DEFAULTS, readLineDefaults } from '../../batch/prepare-line.ts';
import { type BatchEnd, reportBatch, runLines } from '../../batch/run-lines.ts';
import { createScheduler } from '../../batch/scheduler.ts';
import { fillShardInFiles } from '../../batch/shard.ts';
import { createAutofill } from '../../body/autofill.ts';
import { createBodyCheck } from '../../body/body-check.ts';
import { type BodyDependencies, createBodyDependencies } from '../../body/input-reader.ts';
import { rejectReplacedInputs, stdinClaim } from '../../body/named-inputs.ts';
import { type Authorization, readAuthorization } from '../../client/authorization.ts';
import { missingBaseUrl } from '../../client/destination.ts';
import { readChatExpectations } from '../../client/expectations/chat-expectations.ts';
import { checkJunitFile, openJunitReport } from '../../client/expectations/junit-report.ts';
import { connect } from '../../client/send.ts';
import { resolveSettings, type Settings } from '../../client/settings.ts';
import type { Invocation } from '../../command.ts';
import type { Context } from '../../context.ts';
import { usageFailure } from '../../errors.ts';
import { uuidV7 } from '../../fields/uuid.ts';
import { type FlagValues, getStringFlag, isFlagOn } from '../../flag.ts';
import { linkSignal } from '../../http/message.ts';
import { createDeadline } from '../../http/time-limits.ts';
import { flagTarget, type Operation } from '../../operations/operation.ts';
import { chooseFormat } from '../../results/output-format.ts';
import { openResultFilter } from '../../results/print-result.ts';
import { readParent } from '../../trace/trace-context.ts';
import { compareResults, openResults, resolveOutput } from './open-results.ts';

/**
 * Sends each line of a file, or what `splitInput` makes of it, as a body of an operation. Throws usage for flags that do not fit, Failure `safety_check` for the
 * output of another batch, `partly_failed` if lines failed, and the reason for ending early.
 */
export async function runBatch(
  operation: Operation,
  invocation: Invocation,
  context: Context,
  splitInput?: LineSplitter,
): Promise<void> {
  const { runtime, report } = context;
  const { args, flags } = invocation;
  const settings = await resolveSettings(operation, flags, context);
  const { destination, timeoutMs } = settings;
  const options = readBatchOptions(invocation, settings, runtime.env);
  const filter = await openResultFilter(flags, context, () => timeoutMs ?? Number.POSITIVE_INFINITY);
  const fileFlags = fillShardInFiles(flags, options.shard);
  const output = getStringFlag(fileFlags, 'output');
  stdinClaim(operation, args, flags);
  await rejectReplacedInputs(operation, args, fileFlags, runtime.cwd);
  const tools = createBodyDependencies(context, createDeadline(timeoutMs, runtime, settings.isTimeoutDefault));
  const expectations = await readChatExpectations(flags, tools.inputs.read, context.suspendSignals);
  const rows = flags.has('rows') ? await readRows(operation, invocation, tools) : undefined;
  const defaults = rows ? NO_DEFAULTS : await readLineDefaults(operation, flags, tools);
  const split = rows?.split ?? splitInput ?? lineSplitter(operation.largestBody);
  const openedInput = await openBatchInput(options.input, runtime, split, timeoutMs);
  const autofill = settings.isExact ? undefined : settings.defaults;
  const lineChecks: LineChecks = {
    operation,
    defaults,
    autofill,
    parent: autofill && operation.continuesTrace ? await readParent(flags, runtime.env, report) : undefined,
    fill: createAutofill(flagTarget(operation)),
    run: uuidV7(runtime.now(), runtime.randomBytes(10)),
    tools,
    label: openedInput.label,
    check: await createBodyCheck(operation, { ...settings, origin: 'batch' }),
    onWarning: createWarningLimiter(report),
    customIds: createCustomIdTracker(openedInput.label, report),
  };
  const previewFormat = settings.previewFormat && chooseFormat('record', flags, context.stdout.isTerminal);
  const directory = dirname(resolve(runtime.cwd, output ?? '.'));
  const { input: fileInput, batchOptions } = await chooseLines(openedInput, options, directory, context);
  if (previewFormat && !batchOptions.isResumed)
    return await checkBatch(fileInput, batchOptions, lineChecks, previewFormat, context);
  if (!destination) throw missingBaseUrl();
  await checkJunitFile(fileFlags, runtime.cwd);
  const checked = rows
    ? await checkRows(fileInput, batchOptions, lineChecks, directory, context)
    : { fileInput, lineChecks };
  const batchOutput = await resolveOutput(output, filter, batchOptions, context);
  const unopened = {
    fileInput: checked.fileInput,
    identity: createBatchIdentity(destination.url, batchOptions, {
      ...lineChecks,
      defaults: rows ? { fieldEdits: [], perLineFlags: rows.flags } : defaults,
    }),
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
      ...checked.lineChecks,
      settings,
      authorization,
      run,
      resultStore,
      guardFor: await createLineGuards(settings, allowsDuplicate, fileInput.label, run, context),
      expectations,
      junit: await openJunitReport(fileFlags, context),
      responseWarnings: createResponseWarnings(report),
    };
    await reportBatch(await sendBatch(input, batchOptions, batch, context));
  } finally {
    fileInput.stop();
  }
}

/** How rows become lines. */
interface RowLines {
  readonly split: LineSplitter;
  /** The flags that the bodies are made from. */
  readonly flags: FlagValues;
}

async function readRows(operation: Operation, { args, flags }: Invocation, tools: BodyDependencies): Promise<RowLines> {
  const prompt = getStringFlag(flags, 'prompt');
  if (prompt !== undefined && args.length > 0)
    throw usageFailure('--prompt cannot be combined with a prompt as the argument', 'remove one of them');
  if (typeof operation.arguments?.as === 'object')
    throw usageFailure('svc train takes no --rows', 'make bodies of the rows, and send them with --batch');
  const [{ buildRowTemplate }, { rowSplitter }] = await Promise.all([
    import('../../batch/row-template.ts'),
    import('../../batch/row-input.ts'),
  ]);
  const template = await buildRowTemplate(operation, prompt === undefined ? args : [prompt], flags, tools);
  const options = { template, idColumn: getStringFlag(flags, 'id-column'), maxLineBytes: operation.largestBody };
  return { split: rowSplitter(getStringFlag(flags, 'rows') ?? '', options), flags: template.flags };
}

// An input is read once more to choose a sample.
async function chooseLines(
  input: BatchInput,
  options: BatchOptions,
  directory: string,
  { signal }: Context,
): Promise<{ input: BatchInput; batchOptions: BatchOptions }> {
  if (!options.sample) return { input, batchOptions: options };
  const [counted, rest] = await input.twice(directory, signal);
  const sampledLines = await chooseSample(counted, options.sample, options);
  return { input: rest, batchOptions: { ...options, sampledLines } };
}

// A template is one mistake for all rows: none is sent unless each makes a valid body. Warnings are printed here.
async function checkRows(
  input: BatchInput,
  options: BatchOptions,
  lineChecks: LineChecks,
  directory: string,
  context: Context,
): Promise<{ fileInput: BatchInput; lineChecks: LineChecks }> {
  const [checked, fileInput] = await input.twice(directory, context.signal);
  requireValidLines(await checkLines(checked, options, lineChecks, context));
  const silent = async (): Promise<void> => {};
  const customIds = { addLine: silent, finish: silent };
  return { fileInput, lineChecks: { ...lineChecks, onWarning: silent, customIds } };
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
