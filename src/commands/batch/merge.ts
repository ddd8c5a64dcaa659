import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type BatchInput, lineSplitter, openBatchInput } from '../../batch/read/batch-input.ts';
import { mergeResults } from '../../batch/store/merge-results.ts';
import { resolveOutputs } from '../../batch/store/output-file.ts';
import { FAILED_APPLIED_HINT, filterFailure } from '../../batch/store/result-line.ts';
import { lockOutput } from '../../batch/store/result-store.ts';
import type { Invocation } from '../../command.ts';
import type { Context } from '../../context.ts';
import { Failure, usageFailure } from '../../errors.ts';
import { commitOrAbandon, isReplaceable, rejectReplacedInput } from '../../files/file-replacement.ts';
import { createHeapLimit, limitYoungGeneration } from '../../files/heap-limit.ts';
import type { OptionsOfList } from '../../flag.ts';
import { operationAt } from '../../operations/all-operations.ts';
import { chooseFormat, type ResultOptions } from '../../output/output-format.ts';
import { openSink, type Sink } from '../../output/sink.ts';
import { pluralize } from '../../output/transfer-text.ts';
import { filteredSink, type JqFilter } from '../../results/jq-filter.ts';
import { openResultFilter } from '../../results/print-result.ts';
import type { mergeFlags } from '../definitions/command-flags.ts';

type MergeOptions = ResultOptions & OptionsOfList<typeof mergeFlags>;

const MAX_EMPTY_LINE_BYTES = 1024;

/** Combines results in the order of their lines. Throws `safety_check` for several batches, and `partly_failed` after writing all. */
export async function runBatchMerge({ args, options }: Invocation<MergeOptions>, context: Context): Promise<void> {
  const { runtime, stdout, report } = context;
  chooseFormat('lines', options, stdout.isTerminal);
  const filter = await openResultFilter(options, context);
  if (options.columns !== undefined && options.join === undefined)
    throw usageFailure('--columns works only with --join', 'name the table with --join rows.csv');
  if (args.length === 0)
    throw usageFailure('batch merge needs output files', 'run: svc batch merge a.jsonl b.jsonl -o all.jsonl');
  const { output, input, join: joined } = options;
  const inputs = [...args, input, joined].filter((path) => path !== undefined);
  await rejectReplacedInput('-o', output, inputs, runtime.cwd);
  const outputs = await resolveOutputs(args, runtime.cwd);
  createHeapLimit();
  limitYoungGeneration();
  const openInput = async (operation: string | undefined): Promise<BatchInput | undefined> => {
    // Without the operation no result has a digest; a longer line is not empty.
    const maxLineBytes = operationAt(operation)?.maxBodyBytes ?? MAX_EMPTY_LINE_BYTES;
    return input === undefined ? undefined : openBatchInput(input, runtime, lineSplitter(maxLineBytes));
  };
  // A missing input fails when it is opened.
  const isFile = (path: string): Promise<boolean> =>
    stat(resolve(runtime.cwd, path)).then(
      (found) => found.isFile(),
      () => true,
    );
  const isInputReadOnce = input !== undefined && (input === '-' || !(await isFile(input)));
  const { counts, failedApplied, lastLine, missing, writeResults } = await mergeResults(
    outputs,
    openInput,
    isInputReadOnce,
  );
  const wrap = await prepareExport(filter, joined, options, context);
  const path = output === undefined || output === '-' ? undefined : resolve(runtime.cwd, output);
  // A running batch may write to the file.
  const isLocked = path !== undefined && output !== undefined && (await isReplaceable(path));
  const lease = isLocked ? (await lockOutput({ path, displayPath: output }, runtime, report)).lease : undefined;
  try {
    const sink = wrap(await openSink(output, stdout, runtime.cwd));
    await commitOrAbandon(sink, () => writeResults(sink.writer.write));
  } finally {
    await lease?.release();
  }
  const { done, failed, unknown } = counts;
  const lines = done + failed + unknown;
  const end = input === undefined ? ` up to line ${lastLine}` : '';
  const gaps = missing.count() === 0 ? '' : `: ${pluralize(missing.count(), 'line')} ${missing.format()}`;
  const summary = `${lines} ${pluralize(lines, 'line')}: ${done} done, ${failed} failed, ${unknown} unknown; ${missing.count()} missing${end}${gaps}`;
  if (lines === 0) await report.warn(`there are no results of a batch in ${args.join(' ')}`);
  if (done === lines && missing.count() === 0) return report.note(summary);
  const emptyHint =
    input === undefined && missing.count() > 0 ? '; --input FILE tells empty lines from missing ones' : '';
  const unknownHint = unknown > 0 ? '; --retry-unknown beside it sends unknown lines again' : '';
  const hint =
    missing.count() + unknown === 0 && failed === failedApplied
      ? FAILED_APPLIED_HINT
      : `run that batch again with --resume, for missing lines and failed ones that were not applied${unknownHint}${emptyHint}`;
  throw new Failure('partly_failed', summary, { applied: 'unknown', hint });
}

// As result lines, filtered by --jq, as rows of a table with columns added, or as results of an OpenAI batch.
async function prepareExport(
  filter: JqFilter | undefined,
  table: string | undefined,
  options: MergeOptions,
  context: Context,
): Promise<(sink: Sink) => Sink> {
  if (filter) return (sink) => filteredSink(sink, filter, (failure, line) => filterFailure(failure, line, false));
  if (table === undefined && options.outputFormat === undefined) return (sink) => sink;
  const { openAiSink, prepareJoin } = await import('../../batch/store/result-export.ts');
  return table === undefined ? openAiSink : prepareJoin(table, options, context);
}
