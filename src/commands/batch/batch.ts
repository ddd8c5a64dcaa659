import { dirname, resolve } from 'node:path';
import {
  type BatchInput,
  chooseSample,
  type LineSelection,
  type LineSplitter,
  lineSplitter,
  openBatchInput,
  selectedLines,
} from '../../batch/batch-input.ts';
import { createBatchIdentity } from '../../batch/batch-journal.ts';
import { type BatchOptions, fillShardInFiles, readBatchOptions } from '../../batch/batch-options.ts';
import { createBatchWarnings, formatLineRanges } from '../../batch/batch-summary.ts';
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
} from '../../batch/result-store.ts';
import { type BatchEnd, reportBatch, sendBatch } from '../../batch/run-lines.ts';
import { createAutofill } from '../../body/autofill.ts';
import { rejectReplacedInputs, stdinClaim } from '../../body/body-base.ts';
import { createBodyCheck } from '../../body/body-check.ts';
import { type BodyInputs, createBodyInputs } from '../../body/input-reader.ts';
import { readAuthorization } from '../../client/authorization.ts';
import { readChatExpectations } from '../../client/expectations/chat-expectations.ts';
import { checkReportFiles, openRunReport } from '../../client/expectations/run-report.ts';
import { missingBaseUrl, resolveSettings, type Settings } from '../../client/settings.ts';
import type { Invocation } from '../../command.ts';
import type { Context } from '../../context.ts';
import { Failure, usageFailure } from '../../errors.ts';
import { uuidV7 } from '../../fields/uuid.ts';
import { isReplaceable } from '../../files/file-replacement.ts';
import { type FlagValues, getStringFlag, isFlagOn } from '../../flag.ts';
import { createDeadline } from '../../http/time-limits.ts';
import { pluralize } from '../../json/pluralize.ts';
import { flagTarget, type Operation } from '../../operations/operation.ts';
import { issueText } from '../../output/failure-text.ts';
import { openSink, type Sink } from '../../output/sink.ts';
import { filteredSink, type JqFilter } from '../../results/jq-filter.ts';
import { chooseFormat, type OutputFormat, requestedFilter } from '../../results/output-format.ts';
import { openResultFilter, printResult, resultOf } from '../../results/print-result.ts';
import { readParent } from '../../trace/trace-context.ts';
import { limitYoungGeneration } from '../../train/stream/small-heap.ts';

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
  const { runtime, report, signal } = context;
  const { args, flags } = invocation;
  const settings = await resolveSettings(operation, flags, context);
  const { destination, timeoutMs } = settings;
  const options = readBatchOptions(invocation, settings, runtime.env);
  const filter = await openResultFilter(flags, context, () => timeoutMs ?? Number.POSITIVE_INFINITY);
  const fileFlags = fillShardInFiles(flags, options.shard);
  const output = getStringFlag(fileFlags, 'output');
  stdinClaim({ operation, args, flags });
  await rejectReplacedInputs({ operation, args, flags: fileFlags }, runtime.cwd);
  const tools = createBodyInputs(context, createDeadline(timeoutMs, runtime, settings.isTimeoutDefault));
  const expectations = await readChatExpectations(flags, tools.read, context.suspendSignals);
  const rows = flags.has('rows') ? await readRows(operation, invocation, tools) : undefined;
  const defaults = rows ? NO_DEFAULTS : await readLineDefaults(operation, flags, tools);
  const split = rows?.split ?? splitInput ?? lineSplitter(operation.largestBody);
  const input = await openBatchInput(options.input, runtime, split, timeoutMs);
  const { label } = input;
  const continuesTrace = operation.continuesTrace && !settings.isExact;
  const parent = continuesTrace ? await readParent(flags, context) : undefined;
  const checks = await createLineChecks(settings, { label, defaults, tools, parent }, context);
  const previewFormat = settings.previewFormat && chooseFormat('record', flags, context.stdout.isTerminal);
  // Nothing is read twice that need not be.
  const keepInput = (): Promise<void> => input.keep(dirname(resolve(runtime.cwd, output ?? '-')), signal);
  if (options.sample) await keepInput();
  const sampledLines = options.sample && (await chooseSample(input, options.sample, options));
  const selection = { ...options, sampledLines };
  if (previewFormat && !options.isResumed) return checkBatch(input, selection, checks, previewFormat, context);
  if (!destination) throw missingBaseUrl();
  await checkReportFiles(fileFlags, runtime.cwd);
  const identity = createBatchIdentity(destination.url, options, {
    ...checks,
    defaults: rows ? { fieldEdits: [], perLineFlags: rows.flags } : defaults,
  });
  let prior: PriorResults | undefined;
  let end: BatchEnd;
  try {
    if (rows) {
      // A template is one mistake for all rows: none is sent unless each makes a valid body.
      await keepInput();
      requireValidLines(await checkLines(input, selection, checks, context));
    }
    const file = await findOutputFile(output, requestedFilter(flags)?.flag, options.isResumed, context);
    prior = file && (await openPriorResults(file, { ...options, identity, newRun: checks.run }, runtime, report));
    const differences = prior && (await compareWithPrior(input, selection, prior, context));
    if (previewFormat) return await checkBatch(input, selection, checks, previewFormat, context);
    const authorization = await readAuthorization(settings, destination, context);
    const resultStore = prior
      ? await openResultStore(prior, identity, differences)
      : createStreamStore(checks.run, identity, await openFilteredSink(output, filter, context));
    const { run } = resultStore.batch;
    const isTraining = typeof operation.arguments?.as === 'object';
    const guards = isTraining ? await import('../train/job-guard.ts') : undefined;
    const guardFor = guards?.createLineGuards(settings, isFlagOn(flags, 'allow-duplicate'), label, run, context);
    const runReport = await openRunReport(fileFlags, `svc ${operation.command.join(' ')}`, context);
    const batch = { ...checks, run, resultStore, guardFor, expectations, runReport };
    end = await sendBatch(input, selection, batch, authorization, context);
  } finally {
    input.stop();
    await prior?.release();
  }
  await reportBatch(end);
}

// How rows become lines, and the flags that the bodies are made from.
async function readRows(
  operation: Operation,
  { args, flags }: Invocation,
  tools: BodyInputs,
): Promise<{ split: LineSplitter; flags: FlagValues }> {
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

export async function createLineChecks(
  settings: Settings,
  given: Pick<LineChecks, 'label' | 'defaults' | 'tools' | 'parent'>,
  { runtime, report }: Context,
): Promise<LineChecks> {
  const { operation, isExact } = settings;
  return {
    ...given,
    settings,
    fill: isExact ? undefined : createAutofill(flagTarget(operation)),
    run: uuidV7(runtime.now(), runtime.randomBytes(10)),
    check: await createBodyCheck(operation, { ...settings, origin: 'batch' }),
    warnings: createBatchWarnings(given.label, report),
  };
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
  // Preparing each row without waiting would let it grow to 48 MB, which the sending after it keeps.
  limitYoungGeneration();
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
  await checks.warnings.finish();
  return counts;
}

function requireValidLines({ bad, lines }: LineCounts): void {
  if (bad === 0) return;
  const message = `${bad} of ${lines} ${pluralize(lines, 'line')} ${pluralize(bad, 'is', 'are')} invalid; nothing was sent`;
  throw new Failure('body', message, { applied: 'no' });
}

// A regular file can be resumed; undefined for a pipe or a device, which takes the results and cannot. Throws usage for flags that
// do not fit it, and Failure `local_file` if stdout is closed or discarded.
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
      applied: 'no',
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

async function openFilteredSink(
  output: string | undefined,
  filter: JqFilter | undefined,
  { runtime, stdout }: Context,
): Promise<Sink> {
  const sink = await openSink(output, stdout, runtime.cwd);
  return filter ? filteredSink(sink, filter, (failure, line) => filterFailure(failure, line, true)) : sink;
}

// Nothing is read twice if no earlier run left anything.
async function compareWithPrior(
  input: BatchInput,
  options: BatchOptions & LineSelection,
  { table, path, displayPath }: PriorResults,
  { report, signal }: Context,
): Promise<InputDifferences | undefined> {
  if (table.lastLine() === 0) return undefined;
  await input.keep(dirname(path), signal);
  const differences = await findInputDifferences(input, options, table);
  const hint = 'restore the input, choose another file with -o, or send the changed lines with --accept-changes';
  const failure = otherInputFailure(differences, input.label, displayPath, hint);
  if (failure && !options.canAcceptChanges) throw failure;
  const removed = [...differences.removedLines].filter((line) => table.result(line));
  const count = removed.length;
  if (count > 0)
    await report.warn(
      `--accept-changes removes ${count} ${pluralize(count, 'result')} from ${displayPath}: ${pluralize(count, 'line')} ${formatLineRanges(removed)} ${pluralize(count, 'is', 'are')} no longer in ${input.label}`,
    );
  return differences;
}
