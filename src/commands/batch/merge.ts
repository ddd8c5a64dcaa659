import { resolve } from 'node:path';
import { lineSplitter, openBatchInput } from '../../batch/read/batch-input.ts';
import { createLineTable, type LineTable } from '../../batch/store/line-table.ts';
import { type OutputPath, readOutput, resolveOutputs, writeResultsInOrder } from '../../batch/store/output-file.ts';
import { filterFailure } from '../../batch/store/result-line.ts';
import { compareInput, lockOutput } from '../../batch/store/result-store.ts';
import type { Invocation } from '../../command.ts';
import type { Context } from '../../context.ts';
import { Failure, usageFailure } from '../../errors.ts';
import { commitOrAbandon, isReplaceable, rejectReplacedInput } from '../../files/file-replacement.ts';
import type { OptionsOfList } from '../../flag.ts';
import { pluralize } from '../../json/pluralize.ts';
import { operationAt } from '../../operations/all-operations.ts';
import { chooseFormat, type ResultOptions } from '../../output/output-format.ts';
import { openSink, type Sink } from '../../output/sink.ts';
import { formatLineRanges } from '../../output/transfer-text.ts';
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
  const table = createLineTable();
  const outputs = await resolveOutputs(args, runtime.cwd);
  const operation = await readOutputs(outputs, table);
  // Without the operation no result has a digest; a longer line is not empty.
  const maxLineBytes = operationAt(operation)?.maxBodyBytes ?? MAX_EMPTY_LINE_BYTES;
  const compared = input === undefined ? undefined : await openBatchInput(input, runtime, lineSplitter(maxLineBytes));
  const inputHint = 'name the input of that batch with --input';
  const { lastLine, emptyLines } = compared
    ? await compareInput(compared, { shard: { index: 1, count: 1 } }, table, 'the merged output', inputHint)
    : { lastLine: table.lastLine(), emptyLines: new Set() };
  const missing: number[] = [];
  const counts = { done: 0, failed: 0, unknown: 0, unsent: 0 };
  for (let line = 1; line <= lastLine; line += 1) {
    const result = table.result(line);
    if (result) counts[classifyLine(result.exitCode, result.applied).status] += 1;
    else if (!emptyLines.has(line)) missing.push(line);
  }
  const wrap = await prepareExport(filter, joined, options, context);
  const path = output === undefined || output === '-' ? undefined : resolve(runtime.cwd, output);
  // A running batch may write to the file.
  const isLocked = path !== undefined && output !== undefined && (await isReplaceable(path));
  const lease = isLocked ? (await lockOutput({ path, displayPath: output }, runtime, report)).lease : undefined;
  try {
    const sink = wrap(await openSink(output, stdout, runtime.cwd));
    await commitOrAbandon(sink, () => writeResultsInOrder(table, outputs, sink.writer.write));
  } finally {
    await lease?.release();
  }
  const { done, failed, unknown } = counts;
  const lines = done + failed + unknown;
  const end = input === undefined ? ` up to line ${lastLine}` : '';
  const gaps = missing.length === 0 ? '' : `: ${pluralize(missing.length, 'line')} ${formatLineRanges(missing)}`;
  const summary = `${lines} ${pluralize(lines, 'line')}: ${done} done, ${failed} failed, ${unknown} unknown; ${missing.length} missing${end}${gaps}`;
  if (lines === 0) await report.warn(`there are no results of a batch in ${args.join(' ')}`);
  if (done === lines && missing.length === 0) return report.note(summary);
  const emptyHint =
    input === undefined && missing.length > 0 ? '; --input FILE tells empty lines from missing ones' : '';
  const unknownHint = unknown > 0 ? '; --retry-unknown beside it sends unknown lines again' : '';
  const hint = `run that batch again with --resume${unknownHint}${emptyHint}`;
  throw new Failure('partly_failed', summary, { applied: 'unknown', hint });
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
