import { dirname, resolve } from 'node:path';
import { rejectReplacedInputs, stdinClaim } from '../body/body-base.ts';
import { type BodyFlags, givenText, readBodyFlags } from '../body/body-flags.ts';
import { createBodyInputs } from '../body/input-reader.ts';
import { expectationTemplates, readChatExpectations } from '../client/chat-expectations.ts';
import { readAuthorization } from '../client/connection.ts';
import { resolveSettings, type Settings } from '../client/resolve-settings.ts';
import type { Invocation } from '../command.ts';
import { missingBaseUrl } from '../config/destination.ts';
import type { Context } from '../context.ts';
import { Failure, usageFailure } from '../errors.ts';
import { isReplaceable } from '../files/file-replacement.ts';
import { limitYoungGeneration } from '../files/heap-limit.ts';
import { formatLineRanges } from '../files/split-lines.ts';
import { createDeadline } from '../http/time-limits.ts';
import type { Operation } from '../operations/operation.ts';
import { issueText } from '../output/failure-text.ts';
import { chooseFormat, type OutputFormat, type ResultOptions, requestedFilter } from '../output/output-format.ts';
import type { Reporter } from '../output/reporter.ts';
import { openSink } from '../output/sink.ts';
import { pluralize } from '../output/transfer-text.ts';
import { type BatchRecord, createBatchRecord, totalLines } from '../reports/batch/batch-statistics.ts';
import { runFilesOf, withRunReport } from '../reports/run-report.ts';
import { filteredSink, type JqFilter } from '../results/jq-filter.ts';
import { openResultFilter, printResult, resultOf } from '../results/print-result.ts';
import { readParent } from '../trace/trace-context.ts';
import type { RequestOptions } from './batch-flags.ts';
import { type BatchOptions, DEFAULT_BATCH_OPTIONS, fillShard, readBatchOptions } from './batch-options.ts';
import { reportBatch } from './batch-summary.ts';
import { createLineChecks, NO_DEFAULTS, prepareLine, readLineDefaults } from './check/prepare-line.ts';
import {
  chooseSample,
  createMemoryInput,
  type LineSplitter,
  lineSplitter,
  openBatchInput,
  rejectOtherInput,
  selectedLines,
} from './read/batch-input.ts';
import { type InputPart, openPart } from './read/input-part.ts';
import type { RowOptions } from './read/row-input.ts';
import type { BatchPlan } from './send/run-line.ts';
import { type BatchEnd, sendBatch } from './send/run-lines.ts';
import { createBatchIdentity } from './store/batch-journal.ts';
import type { OutputPath } from './store/output-file.ts';
import { type Checkpoint, digestInputLine, filterFailure } from './store/result-line.ts';
import {
  compareInput,
  createStreamStore,
  type InputDifferences,
  openPriorResults,
  openResultStore,
  type PriorResults,
} from './store/result-store.ts';

/** Sends each line of a file, or what `splitInput` makes of it, as a body. Throws the Failure of the batch as a whole. */
export async function runBatch(
  operation: Operation,
  { args, options: given }: Invocation<Partial<RequestOptions>>,
  context: Context,
  splitInput?: LineSplitter,
): Promise<void> {
  const { runtime } = context;
  if (runtime.isDetached?.()) context.ignoreHangup();
  const settings = await resolveSettings(operation, given, context);
  const batchOptions = readBatchOptions(args, given, settings, runtime.env);
  const filter = await openResultFilter(given, context, () => settings.timeoutMs ?? Number.POSITIVE_INFINITY);
  const files = runFilesOf(given, (path) => fillShard(path, batchOptions.shard));
  const { output } = files;
  const names = { operation, args, given: readBodyFlags(operation, given), options: given };
  stdinClaim(names);
  await rejectReplacedInputs(names, files, runtime.cwd);
  const conversation = givenText(names.given, 'conversation');
  const title = `svc ${operation.command.join(' ')}`;
  await withRunReport(files, conversation, title, context, (runReport) =>
    runSteps(
      { ...names, settings, batchOptions, filter, splitInput, output, record: createBatchRecord(runReport) },
      context,
    ),
  );
}

interface BatchRequest {
  readonly operation: Operation;
  readonly args: readonly string[];
  readonly given: BodyFlags;
  readonly options: Partial<RowOptions & ResultOptions & Pick<RequestOptions, 'noParent' | 'allowDuplicate'>>;
  readonly settings: Settings;
  readonly batchOptions: BatchOptions;
  readonly filter: JqFilter | undefined;
  readonly splitInput: LineSplitter | undefined;
  readonly output: string | undefined;
  readonly record: BatchRecord;
}

// Reads what is to be sent, compares it with the results of earlier runs, opens the results, and sends.
async function runSteps(request: BatchRequest, context: Context): Promise<void> {
  const { settings, options: given, batchOptions, output } = request;
  const { plan: whole, rows, keepInput } = await readPlan(request, context);
  const { checks } = whole;
  const previewFormat = settings.previewFormat && chooseFormat('record', given, context.stdout.isTerminal);
  const isPreviewOnly = previewFormat && !batchOptions.isResumed;
  let selected = rows || isPreviewOnly ? await selectLines(whole, undefined, keepInput, context) : undefined;
  if (selected && isPreviewOnly) return checkLines(selected.plan, context, previewFormat);
  if (!settings.destination) throw missingBaseUrl(context.runtime);
  const defaults = rows && { fieldEdits: [], perLineFlags: new Map([...rows.given, ...rows.lineFlags]) };
  const identity = createBatchIdentity(settings.destination.url, batchOptions, {
    ...checks,
    defaults: defaults ?? checks.defaults,
  });
  let prior: PriorResults | undefined;
  let end: BatchEnd;
  try {
    if (selected) {
      // A template is one mistake for all rows: none is sent unless each makes a valid body.
      await keepInput();
      await checkLines(selected.plan, context);
      if (rows?.hasUnusedId() && !batchOptions.isResumed)
        await context.report.note('the rows have a column id; --id-column id puts it into the results');
    }
    const file = await findOutputFile(output, requestedFilter(given)?.flag, batchOptions.isResumed, context);
    prior = file && (await openPriorResults(file, identity, checks.run, batchOptions, context.runtime, context.report));
    selected ??= await selectLines(whole, prior, keepInput, context);
    const { plan, part } = selected;
    const differences = prior && (await compareWithPrior(plan, part, prior, context));
    if (previewFormat) return await checkLines(plan, context, previewFormat);
    const authorization = await readAuthorization(settings, context);
    const store =
      prior && differences
        ? await openResultStore(prior, { ...identity, part: part?.record }, differences)
        : await openStream(request, { ...identity, run: checks.run }, context);
    end = await sendBatch(plan, store, authorization, context);
  } finally {
    (selected?.plan ?? whole).input.stop();
    await prior?.release();
  }
  await reportBatch(end);
  if (totalLines(end.tally) === 0) await warnOfNoLines(whole, context.report);
}

async function readPlan(request: BatchRequest, context: Context) {
  const { operation, args, given: bodyFlags, options: given, settings, batchOptions: options, output } = request;
  const { runtime } = context;
  const { timeoutMs, isExact } = settings;
  const tools = createBodyInputs(context, createDeadline(timeoutMs, runtime, settings.isTimeoutDefault));
  const isRows = given.rows !== undefined;
  const templates = isRows ? expectationTemplates(given) : [];
  const expectations = await readChatExpectations(given, tools.read, context.suspendSignals, templates);
  const project = isExact ? undefined : settings.defaults.project.text;
  const { readRows } = isRows ? await import('./read/row-input.ts') : {};
  const rows = await readRows?.(operation, args, given, bodyFlags, project, tools);
  const defaults = await readLineDefaults(operation, rows?.lineFlags ?? bodyFlags, tools);
  const lines = lineSplitter(operation.maxBodyBytes, options.input === '-' ? 'stdin' : options.input);
  const ownSplit = rows?.split ?? request.splitInput;
  const opened = await openBatchInput(options.input, runtime, ownSplit ?? lines, {
    firstByteMs: timeoutMs,
    totalMs: settings.isTimeoutDefault ? undefined : timeoutMs,
    maxSpoolBytes: options.maxSpoolBytes,
  });
  // Rows have no place in the bytes that another row can be found from.
  const input = ownSplit ? { ...opened, file: undefined } : opened;
  if (input.file) await rejectOtherInput(input.label, input.file.path);
  const { label } = input;
  const parent = operation.continuesTrace && !isExact ? await readParent(given.noParent, context) : undefined;
  const checks = await createLineChecks(settings, { label, defaults, tools, parent, report: context.report }, context);
  const keepInput = (): Promise<void> => input.keep(dirname(resolve(runtime.cwd, output ?? '-')), context.signal);
  const isTraining = typeof operation.arguments?.as === 'object';
  const guards = isTraining ? await import('../client/job-guard.ts') : undefined;
  const plan: BatchPlan = {
    input,
    options,
    checks,
    expectations,
    guardsOf: (run) => guards?.createLineGuards(settings, given.allowDuplicate === true, label, run, context),
    record: request.record,
  };
  return { plan, rows, keepInput };
}

// A shard of a regular file is a part of it, unless an earlier run took every n-th line.
async function selectLines(
  plan: BatchPlan,
  prior: PriorResults | undefined,
  keepInput: () => Promise<void>,
  { report }: Context,
): Promise<{ readonly plan: BatchPlan; readonly part: InputPart | undefined }> {
  const { input: whole, options } = plan;
  const { file, label } = whole;
  const { shard, sample } = options;
  const isPart = shard.count > 1 && file && !prior?.isInterleaved;
  const part = isPart ? await openPart(label, file, options, prior?.part) : undefined;
  if (part?.warning) await report.warn(part.warning);
  // Nothing is read twice that need not be.
  if (sample) await keepInput();
  const input = part?.openInput(false) ?? whole;
  const sampledLines = sample && (await chooseSample(input, sample, shard));
  return { plan: { ...plan, input, options: { ...options, sampledLines } }, part };
}

async function openStream({ output, filter }: BatchRequest, batch: Omit<Checkpoint, 'input'>, context: Context) {
  const sink = await openSink(output, context.stdout, context.runtime.cwd);
  const describe = (failure: Failure, line: string): Failure => filterFailure(failure, line, true);
  const { run, operation, shard } = batch;
  return createStreamStore({ run, operation, shard }, filter ? filteredSink(sink, filter, describe) : sink);
}

// A part of an input may well have none.
async function warnOfNoLines({ input: { label }, options }: BatchPlan, report: Reporter): Promise<void> {
  if (options.shard.count === 1)
    await report.warn(`there are no lines in ${label} that are not empty; write one JSON body per line`);
}

// Prints errors on stderr and, with a format, counts on stdout.
async function checkLines(
  plan: BatchPlan,
  { runtime, stdout, report, signal }: Context,
  format?: OutputFormat,
): Promise<void> {
  const { input, options, checks } = plan;
  const counts = { lines: 0, good: 0, bad: 0, bytes: 0 };
  let hint: string | undefined;
  signal.addEventListener('abort', input.stop, { once: true });
  // Preparing each row without waiting would let it grow to 48 MB, which the sending after it keeps.
  limitYoungGeneration();
  for await (const line of selectedLines(input, options)) {
    signal.throwIfAborted();
    const key = { digest: digestInputLine(line), timestampMs: runtime.now() };
    const { draft } = await prepareLine(line, key, checks);
    counts.lines += 1;
    if (draft instanceof Failure) {
      counts.bad += 1;
      hint ??= draft.facts.hint;
      for (const issue of draft.facts.issues ?? []) await report.error(issueText(issue));
    } else {
      counts.good += 1;
      counts.bytes += draft.doc.bytes.length;
    }
  }
  signal.throwIfAborted();
  await checks.warnings.finish();
  if (format) await printResult(resultOf(counts), { format, filter: undefined, writer: stdout, report });
  const { bad, lines } = counts;
  if (lines === 0) await warnOfNoLines(plan, report);
  if (bad === 0) return;
  const message = `${bad} of ${lines} ${pluralize(lines, 'line')} ${pluralize(bad, 'is', 'are')} invalid; nothing was sent`;
  throw new Failure('body', message, bad === lines ? { hint } : {});
}

// Undefined for a pipe or a device, which takes the results and cannot be resumed.
async function findOutputFile(
  output: string | undefined,
  filterFlag: string | undefined,
  isResumed: boolean,
  { runtime }: Context,
): Promise<OutputPath | undefined> {
  const isStdout = output === undefined || output === '-';
  if (isStdout && runtime.isStdoutClosed())
    throw new Failure('local_file', 'stdout is closed or discarded, so nobody could read the results', {
      hint: 'write them to a file with -o',
    });
  const path = isStdout ? undefined : resolve(runtime.cwd, output);
  if (path !== undefined && (await isReplaceable(path))) {
    if (filterFlag !== undefined)
      throw usageFailure(
        `--${filterFlag} cannot filter ${output}, the output of the batch`,
        `remove --${filterFlag} or -o`,
      );
    return { path, displayPath: output ?? '-' };
  }
  if (!isResumed) return undefined;
  throw usageFailure(
    `--resume needs the output file of the earlier run, but ${output} is not a regular file`,
    'name that file with -o',
  );
}

// Nothing is read twice if no earlier run left anything.
async function compareWithPrior(
  { input, options }: BatchPlan,
  part: InputPart | undefined,
  { table, path, displayPath }: PriorResults,
  { report, signal }: Context,
): Promise<InputDifferences> {
  if (table.lastLine() === 0) {
    part?.requireUnchanged();
    return { changedLines: [], removedLines: new Set() };
  }
  await input.keep(dirname(path), signal);
  const hint = 'restore the input, choose another file with -o, or send the changed lines with --accept-changes';
  const differences = await compareInput(
    part?.openInput(true) ?? input,
    options,
    table,
    displayPath,
    options.canAcceptChanges ? undefined : hint,
  );
  part?.requireUnchanged();
  const removed = [...differences.removedLines].filter((line) => table.result(line));
  const count = removed.length;
  if (count > 0)
    await report.warn(
      `--accept-changes removes ${count} ${pluralize(count, 'result')} from ${displayPath}: ${pluralize(count, 'line')} ${formatLineRanges(removed)} ${pluralize(count, 'is', 'are')} no longer in ${input.label}`,
    );
  return differences;
}

/** Sends bodies from memory as they are, without defaults and checks, as a batch whose results go to `onResult` alone. */
export async function sendBodies(
  { label, bodies }: { readonly label: string; readonly bodies: readonly string[] },
  settings: Settings,
  maxOutageMs: number,
  onResult: BatchPlan['onResult'],
  context: Context,
): Promise<BatchEnd> {
  const { operation } = settings;
  const input = createMemoryInput(label, bodies, operation.maxBodyBytes);
  const tools = createBodyInputs(context, createDeadline(settings.timeoutMs, context.runtime));
  const unchanged = { ...settings, isExact: true, isStrict: false, isCheckDisabled: true };
  const given = { label, defaults: NO_DEFAULTS, tools, parent: undefined, report: undefined };
  const checks = await createLineChecks(unchanged, given, context);
  const store = createStreamStore({ run: checks.run, operation: operation.path, shard: '1/1' });
  const authorization = await readAuthorization(settings, context);
  const options = { ...DEFAULT_BATCH_OPTIONS, maxOutageMs };
  const record = createBatchRecord(undefined);
  return sendBatch({ input, options, checks, record, onResult }, store, authorization, context);
}
