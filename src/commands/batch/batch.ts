import { dirname, resolve } from 'node:path';
import {
  type BatchInput,
  chooseSample,
  type LineSplitter,
  lineSplitter,
  openBatchInput,
  selectedLines,
} from '../../batch/batch-input.ts';
import { type BatchIdentity, createBatchIdentity } from '../../batch/batch-journal.ts';
import { type BatchOptions, fillShardInFiles, readBatchOptions } from '../../batch/batch-options.ts';
import {
  createCustomIdTracker,
  createResponseWarnings,
  createWarningLimiter,
  formatLineRanges,
} from '../../batch/batch-summary.ts';
import type { OutputPath } from '../../batch/output-file.ts';
import { type LineChecks, NO_DEFAULTS, prepareLine, readLineDefaults } from '../../batch/prepare-line.ts';
import { digestInputLine, filterFailure } from '../../batch/result-line.ts';
import {
  createStreamStore,
  findInputDifferences,
  type InputDifferences,
  openPriorResults,
  openResultStore,
  otherInputFailure,
  type PriorResults,
  type ResultStore,
} from '../../batch/result-store.ts';
import type { BatchJob } from '../../batch/run-line.ts';
import { type BatchEnd, reportBatch, runLines } from '../../batch/run-lines.ts';
import { createScheduler } from '../../batch/scheduler.ts';
import { createAutofill } from '../../body/autofill.ts';
import { createBodyCheck } from '../../body/body-check.ts';
import { type BodyDependencies, createBodyDependencies } from '../../body/input-reader.ts';
import { rejectReplacedInputs, stdinClaim } from '../../body/named-inputs.ts';
import { type Authorization, readAuthorization } from '../../client/authorization.ts';
import { readChatExpectations } from '../../client/expectations/chat-expectations.ts';
import { checkReportFiles, openRunReport } from '../../client/expectations/run-report.ts';
import { connect } from '../../client/send.ts';
import { missingBaseUrl, resolveSettings, type Settings } from '../../client/settings.ts';
import type { Invocation } from '../../command.ts';
import type { Context } from '../../context.ts';
import { Failure, usageFailure } from '../../errors.ts';
import { uuidV7 } from '../../fields/uuid.ts';
import { isReplaceable } from '../../files/file-replacement.ts';
import { type FlagValues, getStringFlag, isFlagOn } from '../../flag.ts';
import { linkSignal, type Send } from '../../http/message.ts';
import { createDeadline } from '../../http/time-limits.ts';
import { pluralize } from '../../json/pluralize.ts';
import { flagTarget, type Operation } from '../../operations/operation.ts';
import { issueText } from '../../output/failure-text.ts';
import { openSink } from '../../output/sink.ts';
import { filteredSink, type JqFilter } from '../../results/jq-filter.ts';
import { chooseFormat, type OutputFormat } from '../../results/output-format.ts';
import { openResultFilter, printResult, resultOf } from '../../results/print-result.ts';
import { readParent } from '../../trace/trace-context.ts';

/**
 * Sends each line of a file, or what `splitInput` makes of it, as a body of an operation. Throws usage for flags that do not
 * fit, Failure `safety_check` for the output of another batch, `partly_failed` if lines failed, and the reason for ending early.
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
  const { label } = openedInput;
  const continuesTrace = operation.continuesTrace && !settings.isExact;
  const parent = continuesTrace ? await readParent(flags, runtime.env, report) : undefined;
  const checks = await createLineChecks(settings, { label, defaults, tools, parent }, context);
  const previewFormat = settings.previewFormat && chooseFormat('record', flags, context.stdout.isTerminal);
  const directory = dirname(resolve(runtime.cwd, output ?? '.'));
  const { input: fileInput, batchOptions } = await chooseLines(openedInput, options, directory, context);
  if (previewFormat && !batchOptions.isResumed)
    return await checkBatch(fileInput, batchOptions, checks, previewFormat, context);
  if (!destination) throw missingBaseUrl();
  await checkReportFiles(fileFlags, runtime.cwd);
  const identity = createBatchIdentity(destination.url, batchOptions, {
    ...checks,
    defaults: rows ? { fieldEdits: [], perLineFlags: rows.flags } : defaults,
  });
  let authorization: Authorization | undefined;
  const authorize = async (): Promise<void> => {
    if (!previewFormat) authorization = await readAuthorization(settings, destination, context);
  };
  try {
    const checked = rows ? await checkRows(fileInput, batchOptions, checks, directory, context) : { fileInput, checks };
    const unopened = {
      output,
      filter,
      fileInput: checked.fileInput,
      identity,
      newRun: checks.run,
      batchOptions,
      authorize,
    };
    const { input, open, release } = await openResults(unopened, context);
    if (previewFormat) {
      await release();
      return await checkBatch(input, batchOptions, checks, previewFormat, context);
    }
    const resultStore = await open();
    const { run } = resultStore.batch;
    const allowsDuplicate = isFlagOn(flags, 'allow-duplicate');
    const isTraining = typeof operation.arguments?.as === 'object';
    const guards = isTraining ? await import('../train/job-guard.ts') : undefined;
    const guardFor = guards?.createLineGuards(settings, allowsDuplicate, label, run, context);
    const runReport = await openRunReport(fileFlags, `svc ${operation.command.join(' ')}`, context);
    const batch = { ...checked.checks, settings, run, resultStore, guardFor, expectations, runReport };
    await reportBatch(await sendBatch(input, batchOptions, batch, authorization, context));
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
  checks: LineChecks,
  directory: string,
  context: Context,
): Promise<{ fileInput: BatchInput; checks: LineChecks }> {
  const [checked, fileInput] = await input.twice(directory, context.signal);
  requireValidLines(await checkLines(checked, options, checks, context));
  const silent = async (): Promise<void> => {};
  const customIds = { addLine: silent, finish: silent };
  return { fileInput, checks: { ...checks, onWarning: silent, customIds } };
}

export async function createLineChecks(
  settings: Settings,
  given: Pick<LineChecks, 'label' | 'defaults' | 'tools' | 'parent'>,
  { runtime, report }: Context,
): Promise<LineChecks> {
  const { operation, isExact, defaults } = settings;
  return {
    ...given,
    operation,
    autofill: isExact ? undefined : defaults,
    fill: createAutofill(flagTarget(operation)),
    run: uuidV7(runtime.now(), runtime.randomBytes(10)),
    check: await createBodyCheck(operation, { ...settings, origin: 'batch' }),
    onWarning: createWarningLimiter(report),
    customIds: createCustomIdTracker(given.label, report),
  };
}

/** Sends the lines of an input over connections of their own. */
export async function sendBatch(
  input: BatchInput,
  batchOptions: BatchOptions,
  batch: Omit<BatchJob, 'connection' | 'scheduler' | 'signal' | 'canRetryUnknown' | 'responseWarnings' | 'context'>,
  authorization: Authorization | undefined,
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
  const { transport, ...connected } = await connect(batch.settings, context, { isReused: true, authorization });
  // Before each attempt: a retry may come long after the record of its line.
  const send: Send = async (request) => {
    batch.resultStore.requireHeld();
    return transport.send(request);
  };
  const connection = { ...connected, transport: { ...transport, send } };
  const { canRetryUnknown } = batchOptions;
  const responseWarnings = createResponseWarnings(report);
  const ends = linkSignal(signal).signal;
  try {
    const job = { ...batch, connection, scheduler, signal: ends, canRetryUnknown, responseWarnings, context };
    return await runLines(input, batchOptions, job);
  } finally {
    await transport.close();
  }
}

// Checks every line and sends nothing: counts are printed on stdout, errors on stderr.
async function checkBatch(
  input: BatchInput,
  options: BatchOptions,
  checks: LineChecks,
  format: OutputFormat,
  context: Context,
): Promise<void> {
  const { stdout, report } = context;
  const counts = await checkLines(input, options, checks, context);
  await printResult(resultOf(counts), { format, filter: undefined, writer: stdout, report });
  await stdout.end();
  requireValidLines(counts);
}

type LineCounts = Record<'lines' | 'good' | 'bad' | 'bytes', number>;

async function checkLines(
  input: BatchInput,
  options: BatchOptions,
  checks: LineChecks,
  { runtime, report, signal }: Context,
): Promise<LineCounts> {
  const counts = { lines: 0, good: 0, bad: 0, bytes: 0 };
  signal.addEventListener('abort', input.stop, { once: true });
  for await (const line of selectedLines(input, options)) {
    signal.throwIfAborted();
    const key = { digest: digestInputLine(line), timestampMs: runtime.now() };
    const { draft } = await prepareLine(line, key, checks);
    counts.lines += 1;
    if (draft instanceof Failure) {
      counts.bad += 1;
      for (const issue of draft.facts.issues ?? []) await report.error(issueText(issue));
    } else {
      counts.good += 1;
      counts.bytes += draft.doc.bytes.length;
    }
  }
  signal.throwIfAborted();
  await checks.customIds.finish();
  return counts;
}

function requireValidLines({ bad, lines }: LineCounts): void {
  if (bad === 0) return;
  const message = `${bad} of ${lines} ${pluralize(lines, 'line')} ${pluralize(bad, 'is', 'are')} invalid; nothing was sent`;
  throw new Failure('body', message, { applied: 'no' });
}

// A regular file can be resumed; undefined for a pipe or a device, which takes the results and cannot. Throws usage for flags that
// do not fit it, and Failure `local_file` if stdout is closed or discarded.
async function resolveOutputFile(
  { output, filter, batchOptions }: UnopenedBatch,
  { runtime }: Context,
): Promise<OutputPath | undefined> {
  const isStdout = output === undefined || output === '-';
  if (isStdout && runtime.isStdoutClosed())
    throw new Failure('local_file', 'stdout is closed or discarded, so nobody could read the results', {
      hint: 'write them to a file with -o',
      applied: 'no',
    });
  const path = isStdout ? undefined : resolve(runtime.cwd, output);
  const file = path && (await isReplaceable(path)) ? { path, displayPath: output ?? '-' } : undefined;
  if (file && filter) throw usageFailure(`--jq cannot filter ${output}, the output of the batch`, 'remove --jq or -o');
  if (!file && batchOptions.isResumed)
    throw usageFailure(
      `--resume needs the output file of the earlier run, but ${output} is not a regular file`,
      'name that file with -o',
    );
  return file || undefined;
}

interface UnopenedBatch {
  /** The value of `-o`. */
  readonly output: string | undefined;
  readonly filter: JqFilter | undefined;
  readonly fileInput: BatchInput;
  readonly identity: BatchIdentity;
  /** The id of the run, if it is a new one. */
  readonly newRun: string;
  readonly batchOptions: BatchOptions;
  /** Throws if the batch may not be sent; nothing is written before it has returned. */
  readonly authorize: () => Promise<void>;
}

/** Results of earlier runs that fit the input. Either `open` or `release` is to be called. */
interface ComparedResults {
  readonly input: BatchInput;
  readonly open: () => Promise<ResultStore>;
  readonly release: () => Promise<void>;
}

/**
 * Compares the input of a batch with the results of earlier runs, before a line or a credential is checked, and changes nothing.
 * Throws what that and `authorize` throw.
 */
async function openResults(unopened: UnopenedBatch, context: Context): Promise<ComparedResults> {
  const { output, filter, fileInput, identity, newRun, batchOptions, authorize } = unopened;
  const { runtime, stdout, report, signal } = context;
  const file = await resolveOutputFile(unopened, context);
  if (!file) {
    await authorize();
    const open = async (): Promise<ResultStore> => {
      const sink = await openSink(output, stdout, runtime.cwd);
      const filtered = filter
        ? filteredSink(sink, filter, (failure, line) => filterFailure(failure, line, true))
        : sink;
      return createStreamStore(newRun, identity, filtered);
    };
    return { input: fileInput, open, release: async () => {} };
  }
  const prior = await openPriorResults(file, { ...batchOptions, identity, newRun }, runtime, report);
  const { table, displayPath, release } = prior;
  try {
    const { input, differences } = await compareWithPrior(fileInput, batchOptions, prior, signal);
    await authorize();
    const removed = [...differences.removedLines].filter((line) => table.result(line));
    const count = removed.length;
    if (count > 0)
      await report.warn(
        `--accept-changes removes ${count} ${pluralize(count, 'result')} from ${displayPath}: ${pluralize(count, 'line')} ${formatLineRanges(removed)} ${pluralize(count, 'is', 'are')} no longer in ${fileInput.label}`,
      );
    return { input, open: () => openResultStore(prior, identity, differences), release };
  } catch (error) {
    await release();
    throw error;
  }
}

// Nothing is read twice if no earlier run left anything.
async function compareWithPrior(
  fileInput: BatchInput,
  batchOptions: BatchOptions,
  { table, path, displayPath }: PriorResults,
  signal: AbortSignal,
): Promise<{ input: BatchInput; differences: Pick<InputDifferences, 'changedLines' | 'removedLines'> }> {
  if (table.lastLine() === 0) return { input: fileInput, differences: { changedLines: [], removedLines: new Set() } };
  const [compared, input] = await fileInput.twice(dirname(path), signal);
  const differences = await findInputDifferences(compared, batchOptions, table);
  const hint = 'restore the input, choose another file with -o, or send the changed lines with --accept-changes';
  const failure = otherInputFailure(differences, fileInput.label, displayPath, hint);
  if (failure && !batchOptions.canAcceptChanges) throw failure;
  return { input, differences };
}
