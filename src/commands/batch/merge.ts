import { resolve } from 'node:path';
import { openBatchInput } from '../../batch/batch-input.ts';
import { formatLineRanges } from '../../batch/batch-summary.ts';
import { createLineTable, type LineTable } from '../../batch/line-table.ts';
import { type OutputPath, readOutput, resolveOutputs, writeResultsInOrder } from '../../batch/output-file.ts';
import { type Checkpoint, filterFailure } from '../../batch/result-line.ts';
import { findInputDifferences, lockOutput, otherInputFailure } from '../../batch/result-store.ts';
import type { Invocation } from '../../command.ts';
import type { Context } from '../../context.ts';
import { Failure, usageFailure } from '../../errors.ts';
import type { Unlock } from '../../files/file-lock.ts';
import { commitOrAbandon, isReplaceable, rejectReplacedInput } from '../../files/file-replacement.ts';
import { getStringFlag } from '../../flag.ts';
import { pluralize } from '../../json/pluralize.ts';
import { operationAt } from '../../operations/all-operations.ts';
import { openSink } from '../../output/sink.ts';
import { filteredSink, type JqFilter } from '../../results/jq-filter.ts';
import { chooseFormat } from '../../results/output-format.ts';
import { openResultFilter } from '../../results/print-result.ts';
import type { Runtime } from '../../runtime.ts';

/**
 * Combines the results of sharded batches in the order of their lines, and reports missing lines. Throws Failure
 * `safety_check` for outputs that are not of one batch, and `partly_failed` if lines are missing or have no success, after writing
 * all results. Without the input, an empty line before the last result counts as missing, and lines after it are not known.
 */
export async function runBatchMerge({ args, flags }: Invocation, context: Context): Promise<void> {
  const { runtime, stdout, report } = context;
  chooseFormat('lines', flags, stdout.isTerminal);
  const filter = await openResultFilter(flags, context);
  if (args.length === 0)
    throw usageFailure('batch merge needs output files', 'run: svc batch merge a.jsonl b.jsonl -o all.jsonl');
  const [output, input] = ['output', 'input'].map((name) => getStringFlag(flags, name));
  await rejectReplacedInput('-o', output, input === undefined ? args : [...args, input], runtime.cwd);
  const table = createLineTable();
  const outputs = await resolveOutputs(args, runtime.cwd);
  const operation = await readOutputs(outputs, table);
  const missingLines =
    input === undefined
      ? findMissingLines(table, table.lastLine())
      : await compareWithInput(table, input, operation, runtime);
  await writeMergedResults(table, outputs, output, filter, context);
  const { summary, isComplete } = summarizeMerge(table, missingLines, input !== undefined);
  if (isComplete) return report.note(summary);
  throw new Failure('partly_failed', summary, {
    applied: 'unknown',
    hint:
      input === undefined && missingLines.length > 0
        ? 'run the batch of that shard again with --resume; --input FILE tells empty lines from missing ones'
        : 'run the batch of that shard again with --resume',
  });
}

// Returns the path of the operation; undefined without results.
async function readOutputs(outputs: readonly OutputPath[], table: LineTable): Promise<string | undefined> {
  let first: { displayPath: string; operation: string; text: string } | undefined;
  for (const [at, { path, displayPath }] of outputs.entries()) {
    const { checkpoints = [], otherInputLines } = (await readOutput({ path, displayPath }, at, table)) ?? {};
    for (const { operation, shard } of checkpoints) {
      const batch = { displayPath, operation, text: batchText(operation, shard) };
      first ??= batch;
      if (batch.text !== first.text)
        throw otherBatchFailure(first, batch, `they hold results of ${first.text} and of ${batch.text}`);
    }
    const [line] = otherInputLines ?? [];
    const earlier = line === undefined ? undefined : outputs[table.result(line)?.fileIndex ?? 0];
    if (earlier) throw otherBatchFailure(earlier, { displayPath }, `line ${line} of their inputs differs`);
  }
  return first?.operation;
}

function batchText(operation: string, shard: Checkpoint['shard']): string {
  const count = shard.slice(shard.indexOf('/') + 1);
  return `${operation}${count === '1' ? '' : ` in ${count} shards`}`;
}

async function writeMergedResults(
  table: LineTable,
  outputs: readonly OutputPath[],
  output: string | undefined,
  filter: JqFilter | undefined,
  { runtime, stdout }: Pick<Context, 'runtime' | 'stdout'>,
): Promise<void> {
  const release = await lockMergedOutput(output, runtime);
  try {
    const plainSink = await openSink(output, stdout, runtime.cwd);
    const sink = filter
      ? filteredSink(plainSink, filter, (failure, line) => filterFailure(failure, line, false))
      : plainSink;
    await commitOrAbandon(sink, () => writeResultsInOrder(table, outputs, sink.writer.write));
  } finally {
    await release?.();
  }
}

// A running batch may write to the file.
async function lockMergedOutput(output: string | undefined, runtime: Runtime): Promise<Unlock | undefined> {
  if (output === undefined || output === '-') return undefined;
  const path = resolve(runtime.cwd, output);
  return (await isReplaceable(path)) ? (await lockOutput({ path, displayPath: output }, runtime)).release : undefined;
}

function otherBatchFailure(
  first: Pick<OutputPath, 'displayPath'>,
  other: Pick<OutputPath, 'displayPath'>,
  reason: string,
): Failure {
  const message = `${first.displayPath} and ${other.displayPath} do not belong to the same batch: ${reason}`;
  const hint = 'merge the outputs of one batch, each shard once';
  return new Failure('safety_check', message, { hint, applied: 'no' });
}

// Returns the lines without a result.
async function compareWithInput(
  table: LineTable,
  path: string,
  operationPath: string | undefined,
  runtime: Runtime,
): Promise<number[]> {
  const operation = operationAt(operationPath);
  const input = await openBatchInput(path, runtime, operation?.largestBody ?? MAX_EMPTY_LINE_BYTES);
  const differences = await findInputDifferences(input, { shard: { index: 1, count: 1 } }, table);
  const hint = 'name the input of that batch with --input';
  const failure = otherInputFailure(differences, input.label, 'the merged output', hint);
  if (failure) throw failure;
  return findMissingLines(table, differences.lastLine, differences.emptyLines);
}

// Without the operation no result has a digest; a longer line is not empty.
const MAX_EMPTY_LINE_BYTES = 1024;

function findMissingLines(table: LineTable, lastLine: number, emptyLines?: ReadonlySet<number>): number[] {
  const missing: number[] = [];
  for (let line = 1; line <= lastLine; line += 1) if (!table.result(line) && !emptyLines?.has(line)) missing.push(line);
  return missing;
}

function summarizeMerge(
  table: LineTable,
  missing: readonly number[],
  hasInput: boolean,
): { summary: string; isComplete: boolean } {
  const counts = { done: 0, failed: 0, unknown: 0 };
  for (const line of table.lines()) {
    const { exitCode = 0, applied } = table.result(line) ?? {};
    counts[exitCode === 0 ? 'done' : applied === 'unknown' ? 'unknown' : 'failed'] += 1;
  }
  const { done, failed, unknown } = counts;
  const gaps = missing.length === 0 ? '' : `: ${pluralize(missing.length, 'line')} ${formatLineRanges(missing)}`;
  const end = hasInput ? '' : ` up to line ${table.lastLine()}`;
  const lines = done + failed + unknown;
  return {
    summary: `${lines} ${pluralize(lines, 'line')}: ${done} done, ${failed} failed, ${unknown} unknown; ${missing.length} missing${end}${gaps}`,
    isComplete: failed + unknown + missing.length === 0,
  };
}
