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
import { joinWithOr } from '../../fields/closest-match.ts';
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
  const found = await stat(resolve(runtime.cwd, input ?? '')).catch(() => undefined);
  const isInputReadOnce = input !== undefined && (input === '-' || found?.isFile() === false);
  const merged = await mergeResults(outputs, openInput, isInputReadOnce);
  const wrap = await prepareExport(filter, options, context, (row) => {
    if (input === undefined) merged.missing.add(row);
  });
  const path = output === undefined || output === '-' ? undefined : resolve(runtime.cwd, output);
  // A running batch may write to the file.
  const isLocked = path !== undefined && output !== undefined && (await isReplaceable(path));
  const lease = isLocked ? (await lockOutput({ path, displayPath: output }, runtime, report)).lease : undefined;
  try {
    const sink = wrap(await openSink(output, stdout, runtime.cwd));
    await commitOrAbandon(sink, () => merged.writeResults(sink.writer.write));
  } finally {
    await lease?.release();
  }
  const { lastLine, missing, shards } = merged;
  const { done, failed, unknown } = merged.counts;
  const lines = done + failed + unknown;
  const end = input === undefined && joined === undefined ? ` up to line ${lastLine}` : '';
  const gaps = missing.count() === 0 ? '' : `: ${pluralize(missing.count(), 'line')} ${missing.format()}`;
  // An input without a missing line has empty shards.
  const others = input === undefined || missing.count() > 0 ? shardsWithoutOutput(shards, args.length) : [];
  const unnamed = others.length === 0 ? '' : `; missing: shard ${joinWithOr(others)}`;
  const summary = `${lines} ${pluralize(lines, 'line')}: ${done} done, ${failed} failed, ${unknown} unknown; ${missing.count()} missing${end}${gaps}${unnamed}`;
  if (lines === 0) await report.warn(`there are no results of a batch in ${args.join(' ')}`);
  if (done === lines && missing.count() + others.length === 0) return report.note(summary);
  const hint = others[0]
    ? `name the output of each shard, or if there is none, run that batch with --shard ${others[0]} -o <file>`
    : incompleteHint(merged, end !== '');
  throw new Failure('partly_failed', summary, { applied: 'unknown', hint });
}

function incompleteHint(
  { counts: { failed, unknown }, missing, failedApplied }: Awaited<ReturnType<typeof mergeResults>>,
  canMissEmptyLines: boolean,
): string {
  if (missing.count() + unknown === 0 && failed === failedApplied) return FAILED_APPLIED_HINT;
  const emptyHint =
    canMissEmptyLines && missing.count() > 0 ? '; --input FILE tells empty lines from missing ones' : '';
  const unknownHint = unknown > 0 ? '; --retry-unknown beside it sends unknown lines again' : '';
  return `run that batch again with --resume, for missing lines and failed ones that were not applied${unknownHint}${emptyHint}`;
}

// Of `1/3` and `3/3` in two outputs: `2/3`. The output of a shard without lines has no results.
function shardsWithoutOutput(shards: ReadonlySet<string>, outputs: number): string[] {
  const count = Number([...shards][0]?.split('/')[1] ?? 1);
  const all = Array.from({ length: count }, (_, at) => `${at + 1}/${count}`);
  return outputs < count ? all.filter((shard) => !shards.has(shard)) : [];
}

// As result lines, filtered by --jq, as rows of a table with columns added, or as results of an OpenAI batch.
async function prepareExport(
  filter: JqFilter | undefined,
  options: MergeOptions,
  context: Context,
  onMissing: (row: number) => void,
): Promise<(sink: Sink) => Sink> {
  if (filter) return (sink) => filteredSink(sink, filter, (failure, line) => filterFailure(failure, line, false));
  if (options.join === undefined && options.outputFormat === undefined) return (sink) => sink;
  const { openAiSink, prepareJoin } = await import('../../batch/store/result-export.ts');
  return options.join === undefined ? openAiSink : prepareJoin(options.join, options, context, onMissing);
}
