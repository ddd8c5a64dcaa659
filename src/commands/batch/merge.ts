import { resolve } from 'node:path';
import { type BatchInput, lineSplitter, openBatchInput } from '../../batch/read/batch-input.ts';
import { createLineTable, type LineTable } from '../../batch/store/line-table.ts';
import { copyOrderedResults, type OrderedResults, readOrderedResults } from '../../batch/store/ordered-results.ts';
import { type OutputPath, readOutput, resolveOutputs, writeResultsInOrder } from '../../batch/store/output-file.ts';
import { filterFailure } from '../../batch/store/result-line.ts';
import { compareInput, lockOutput, requireSameInput } from '../../batch/store/result-store.ts';
import type { Invocation } from '../../command.ts';
import type { Context } from '../../context.ts';
import { Failure, usageFailure } from '../../errors.ts';
import { commitOrAbandon, isReplaceable, rejectReplacedInput } from '../../files/file-replacement.ts';
import { createHeapLimit, limitYoungGeneration } from '../../files/heap-limit.ts';
import type { OptionsOfList } from '../../flag.ts';
import { pluralize } from '../../json/pluralize.ts';
import { operationAt } from '../../operations/all-operations.ts';
import { chooseFormat, type ResultOptions } from '../../output/output-format.ts';
import { openSink, type Sink } from '../../output/sink.ts';
import { createLineRanges } from '../../output/transfer-text.ts';
import { classifyLine } from '../../reports/batch/line-facts.ts';
import { filteredSink, type JqFilter } from '../../results/jq-filter.ts';
import { openResultFilter } from '../../results/print-result.ts';
import type { mergeFlags } from '../command-flags.ts';

type MergeOptions = ResultOptions & OptionsOfList<typeof mergeFlags>;

const MAX_EMPTY_LINE_BYTES = 1024;

/**
 * Combines the results of sharded batches in the order of their lines. Throws Failure `safety_check` for outputs that are not of one
 * batch, and `partly_failed` for missing or failed lines, after writing all results.
 */
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
  const { counts, lastLine, missing, writeResults } =
    (await mergeInOrder(outputs, openInput)) ?? (await mergeByTable(outputs, openInput));
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
  const hint = `run that batch again with --resume${unknownHint}${emptyHint}`;
  throw new Failure('partly_failed', summary, { applied: 'unknown', hint });
}

type OpenInput = (operation: string | undefined) => Promise<BatchInput | undefined>;

interface MergePlan extends Pick<OrderedResults, 'counts' | 'lastLine' | 'missing'> {
  readonly writeResults: (write: (results: Uint8Array) => Promise<void>) => Promise<void>;
}

// The shards of a file follow each other. Undefined for results in another order.
async function mergeInOrder(outputs: readonly OutputPath[], openInput: OpenInput): Promise<MergePlan | undefined> {
  let compared: BatchInput | undefined;
  const found = await readOrderedResults(outputs, async (operation) => {
    compared = await openInput(operation);
    return compared;
  });
  if (!found) return undefined;
  const { changed, removed } = found;
  if (compared) requireSameInput(compared, { changed, removed }, MERGED_OUTPUT, INPUT_HINT);
  return { ...found, writeResults: (write) => copyOrderedResults(found, write) };
}

const MERGED_OUTPUT = 'the merged output';
const INPUT_HINT = 'name the input of that batch with --input';

async function mergeByTable(outputs: readonly OutputPath[], openInput: OpenInput): Promise<MergePlan> {
  const table = createLineTable();
  const compared = await openInput(await readOutputs(outputs, table));
  const { lastLine, emptyLines } = compared
    ? await compareInput(compared, { shard: { index: 1, count: 1 } }, table, MERGED_OUTPUT, INPUT_HINT)
    : { lastLine: table.lastLine(), emptyLines: new Set() };
  const missing = createLineRanges();
  const counts = { done: 0, failed: 0, unknown: 0, unsent: 0 };
  for (let line = 1; line <= lastLine; line += 1) {
    const result = table.result(line);
    if (result) counts[classifyLine(result.exitCode, result.applied).status] += 1;
    else if (!emptyLines.has(line)) missing.add(line);
  }
  return { counts, lastLine, missing, writeResults: (write) => writeResultsInOrder(table, outputs, write) };
}

async function readOutputs(outputs: readonly OutputPath[], table: LineTable): Promise<string | undefined> {
  let first: { displayPath: string; operation: string; text: string } | undefined;
  for (const [at, output] of outputs.entries()) {
    const { displayPath } = output;
    const { checkpoints, otherInputLines } = await readOutput(output, at, table);
    for (const { operation, shard } of checkpoints) {
      const count = shard.slice(shard.indexOf('/') + 1);
      const text = `${operation}${count === '1' ? '' : ` in ${count} shards`}`;
      first ??= { displayPath, operation, text };
      if (text !== first.text)
        throw otherBatchFailure(first.displayPath, displayPath, `they hold results of ${first.text} and of ${text}`);
    }
    const [line] = otherInputLines;
    const earlier = line === undefined ? undefined : outputs[table.result(line)?.fileIndex ?? 0];
    if (earlier) throw otherBatchFailure(earlier.displayPath, displayPath, `line ${line} of their inputs differs`);
  }
  return first?.operation;
}

function otherBatchFailure(first: string, other: string, reason: string): Failure {
  const message = `${first} and ${other} do not belong to the same batch: ${reason}`;
  const hint = 'merge the outputs of one batch, each shard once';
  return new Failure('safety_check', message, { hint, applied: 'no' });
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
