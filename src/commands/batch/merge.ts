import { resolve } from 'node:path';
import { describeStamp } from '../../batch/batch-identity.ts';
import { openBatchInput } from '../../batch/batch-input.ts';
import { resolveBatchOutputs } from '../../batch/batch-outputs.ts';
import { type CheckpointPath, writeEntriesInOrder } from '../../batch/compact-checkpoint.ts';
import { findInputDifferences, otherInputFailure } from '../../batch/compare-input.ts';
import { readInFlightLog } from '../../batch/in-flight-log.ts';
import { createLineIndex, type LineIndex } from '../../batch/line-index.ts';
import { formatLineRanges } from '../../batch/line-ranges.ts';
import { filterFailure } from '../../batch/parse-result-entry.ts';
import { inFlightPath, lockCheckpoint } from '../../batch/prior-results.ts';
import { readCheckpoint } from '../../batch/read-checkpoint.ts';
import type { Invocation } from '../../command.ts';
import type { Context } from '../../context.ts';
import { Failure, usageFailure } from '../../errors.ts';
import { pathExists } from '../../files/file-errors.ts';
import type { Unlock } from '../../files/file-lock.ts';
import { commitOrAbandon, isReplaceable } from '../../files/file-replacement.ts';
import { rejectReplacedInput } from '../../files/reject-replaced-input.ts';
import { getStringFlag } from '../../flag.ts';
import { pluralize } from '../../json/pluralize.ts';
import { operationAt } from '../../operations/all-operations.ts';
import type { Reporter } from '../../output/reporter.ts';
import { openSink } from '../../output/sink.ts';
import { filteredSink, type JqFilter } from '../../results/jq-filter.ts';
import { chooseFormat } from '../../results/output-format.ts';
import { openResultFilter } from '../../results/print-result.ts';
import type { Runtime } from '../../runtime.ts';

/**
 * Combines the results of sharded batches in the order of their lines, and reports missing lines. Throws Failure
 * `guard` for outputs that are not of one batch, and `partial` if lines are missing or have no success, after writing
 * all results. Without the input, an incomplete run counts as one whose last lines are missing.
 */
export async function runBatchMerge({ args, flags }: Invocation, context: Context): Promise<void> {
  const { runtime, stdout, report } = context;
  chooseFormat('lines', flags, stdout.isTerminal);
  const filter = await openResultFilter(flags, context);
  if (args.length === 0)
    throw usageFailure('batch merge needs output files', 'run: svc batch merge a.jsonl b.jsonl -o all.jsonl');
  const [output, input] = ['output', 'input'].map((name) => getStringFlag(flags, name));
  await rejectReplacedInput('-o', output, input === undefined ? args : [...args, input], runtime.cwd);
  const lineIndex = createLineIndex();
  const checkpoints = await resolveBatchOutputs(args, runtime.cwd);
  const { operation, isIncomplete, isWhole } = await readOutputs(checkpoints, lineIndex, report);
  const missingLines =
    input === undefined
      ? isWhole
        ? []
        : findMissingLines(lineIndex, lineIndex.lastLine())
      : await compareWithInput(lineIndex, input, operation, runtime);
  await writeMergedResults(lineIndex, checkpoints, output, filter, context);
  const { summary, isComplete } = summarizeMerge(lineIndex, missingLines);
  const isEndUnknown = input === undefined && isIncomplete;
  if (isComplete && !isEndUnknown) return report.note(summary);
  throw new Failure('partial', isEndUnknown ? `${summary}; lines at the end may be missing` : summary, {
    applied: 'unknown',
    hint: isEndUnknown
      ? 'run the batch of that shard again with --resume; --input FILE lists all missing lines'
      : 'run the batch of that shard again with --resume',
  });
}

/** The facts about a batch in its outputs. */
interface MergedBatch {
  /** The path of the operation; undefined if every result is of svc 0.1. */
  readonly operation: string | undefined;
  /** A run was not completed, or results were removed since. */
  readonly isIncomplete: boolean;
  /** All shards were completed, so lines without a result are empty. */
  readonly isWhole: boolean;
}

async function readOutputs(
  checkpoints: readonly CheckpointPath[],
  lineIndex: LineIndex,
  { warn }: Pick<Reporter, 'warn'>,
): Promise<MergedBatch> {
  let first: { displayPath: string; operation: string; text: string } | undefined;
  let isIncomplete = false;
  const completedShards = new Set<string>();
  for (const [at, { path, displayPath }] of checkpoints.entries()) {
    const checkpoint = await readCheckpoint(path, displayPath, at, lineIndex);
    for (const stamp of checkpoint.stamps) {
      const batch = { displayPath, ...describeStamp(stamp) };
      first ??= batch;
      if (batch.text !== first.text)
        throw otherBatchFailure(first, batch, `they hold results of ${first.text} and of ${batch.text}`);
      if (checkpoint.completion) completedShards.add(batch.shard);
    }
    const [line] = checkpoint.otherInputLines;
    const earlier = line === undefined ? undefined : checkpoints[lineIndex.get(line)?.fileIndex ?? 0];
    if (earlier) throw otherBatchFailure(earlier, { displayPath }, `line ${line} of their inputs differs`);
    if (checkpoint.hasMissingEntries || !(await isCompleted({ path, displayPath }, checkpoint.validBytes))) {
      isIncomplete = true;
      await warn(`the batch of ${displayPath} is not complete; continue it with --resume`);
    }
  }
  const [shard] = completedShards;
  const isWhole = !isIncomplete && completedShards.size === Number(shard?.split('/')[1]);
  return { operation: first?.operation, isIncomplete, isWhole };
}

// A completed run leaves its log only if it has no results.
async function isCompleted({ path, displayPath }: CheckpointPath, validBytes: number): Promise<boolean> {
  if (!(await pathExists(inFlightPath(path)))) return true;
  if (validBytes > 0) return false;
  const log = await readInFlightLog(inFlightPath(path), inFlightPath(displayPath), () => true);
  return log?.isCompleted === true;
}

async function writeMergedResults(
  lineIndex: LineIndex,
  checkpoints: readonly CheckpointPath[],
  output: string | undefined,
  filter: JqFilter | undefined,
  { runtime, stdout }: Pick<Context, 'runtime' | 'stdout'>,
): Promise<void> {
  const release = await lockOutput(output, runtime);
  try {
    const plainSink = await openSink(output, stdout, runtime.cwd);
    const sink = filter
      ? filteredSink(plainSink, filter, (failure, line) => filterFailure(failure, line, false))
      : plainSink;
    await commitOrAbandon(sink, () => writeEntriesInOrder(lineIndex, checkpoints, sink.writer.write));
  } finally {
    await release?.();
  }
}

// A running batch may write to the file.
async function lockOutput(output: string | undefined, runtime: Runtime): Promise<Unlock | undefined> {
  if (output === undefined || output === '-') return undefined;
  const path = resolve(runtime.cwd, output);
  return (await isReplaceable(path))
    ? (await lockCheckpoint({ path, displayPath: output }, runtime)).release
    : undefined;
}

function otherBatchFailure(
  first: Pick<CheckpointPath, 'displayPath'>,
  other: Pick<CheckpointPath, 'displayPath'>,
  reason: string,
): Failure {
  return new Failure(
    'guard',
    `${first.displayPath} and ${other.displayPath} do not belong to the same batch: ${reason}`,
    {
      hint: 'merge the outputs of one batch, each shard once',
      applied: 'no',
    },
  );
}

// Returns the lines without a result.
async function compareWithInput(
  lineIndex: LineIndex,
  path: string,
  operationPath: string | undefined,
  runtime: Runtime,
): Promise<number[]> {
  const operation = operationAt(operationPath);
  const input = await openBatchInput(path, runtime, operation?.largestBody ?? MAX_EMPTY_LINE_BYTES);
  const noneInFlight = { inFlight: undefined, inFlightLine: () => undefined };
  const differences = await findInputDifferences(input, { index: 1, count: 1 }, { lineIndex, ...noneInFlight });
  const hint = 'name the input of that batch with --input';
  const failure = otherInputFailure(differences, input.label, 'the merged output', hint);
  if (failure) throw failure;
  return findMissingLines(lineIndex, differences.lastLine, differences.emptyLines);
}

// Without the operation no result has a digest; a longer line is not empty.
const MAX_EMPTY_LINE_BYTES = 1024;

function findMissingLines(lineIndex: LineIndex, lastLine: number, emptyLines?: ReadonlySet<number>): number[] {
  const missing: number[] = [];
  for (let line = 1; line <= lastLine; line += 1)
    if (!lineIndex.get(line) && !emptyLines?.has(line)) missing.push(line);
  return missing;
}

function summarizeMerge(lineIndex: LineIndex, missing: readonly number[]): { summary: string; isComplete: boolean } {
  const counts = { done: 0, failed: 0, unknown: 0 };
  for (const line of lineIndex.lines()) {
    const { exitCode = 0, applied } = lineIndex.get(line) ?? {};
    counts[exitCode === 0 ? 'done' : applied === 'unknown' ? 'unknown' : 'failed'] += 1;
  }
  const { done, failed, unknown } = counts;
  const gaps = missing.length === 0 ? '' : `: ${pluralize(missing.length, 'line')} ${formatLineRanges(missing)}`;
  const lines = done + failed + unknown;
  return {
    summary: `${lines} ${pluralize(lines, 'line')}: ${done} done, ${failed} failed, ${unknown} unknown; ${missing.length} missing${gaps}`,
    isComplete: failed + unknown + missing.length === 0,
  };
}
