import { dirname, resolve } from 'node:path';
import type { BatchIdentity } from '../../batch/batch-identity.ts';
import type { BatchInput } from '../../batch/batch-input.ts';
import type { BatchOptions } from '../../batch/batch-options.ts';
import type { CheckpointPath } from '../../batch/compact-checkpoint.ts';
import { compareInput, type InputDifferences, removedResultsWarning } from '../../batch/compare-input.ts';
import { filterFailure } from '../../batch/parse-result-entry.ts';
import { openPriorResults, type PriorResults } from '../../batch/prior-results.ts';
import { createStreamStore, openResultStore, type ResultStore } from '../../batch/result-store.ts';
import type { Shard } from '../../batch/shard.ts';
import type { Context } from '../../context.ts';
import { Failure, usageFailure } from '../../errors.ts';
import { isReplaceable } from '../../files/file-replacement.ts';
import { openSink, type Sink } from '../../output/sink.ts';
import { filteredSink, type JqFilter } from '../../results/jq-filter.ts';

/** The output of a batch. */
export interface BatchOutput {
  /** The value of `-o`. */
  readonly output: string | undefined;
  /** The file that is a checkpoint; undefined if the results go to a stream. */
  readonly checkpoint: CheckpointPath | undefined;
  readonly filter: JqFilter | undefined;
}

/**
 * Decides about the output: a regular file is a checkpoint, a pipe or a device takes the results and cannot be resumed.
 * Throws usage for flags that do not fit it, and Failure `local` if stdout is closed or discarded.
 */
export async function resolveOutput(
  output: string | undefined,
  filter: JqFilter | undefined,
  { isResumed }: BatchOptions,
  { runtime }: Context,
): Promise<BatchOutput> {
  const isStdout = output === undefined || output === '-';
  if (isStdout && runtime.isStdoutClosed())
    throw new Failure('local', 'stdout is closed or discarded, so nobody could read the results', {
      hint: 'write them to a file with -o',
      applied: 'no',
    });
  const path = isStdout ? undefined : resolve(runtime.cwd, output);
  const checkpoint = path && (await isReplaceable(path)) ? { path, displayPath: output ?? '-' } : undefined;
  if (checkpoint && filter)
    throw usageFailure(`--jq cannot filter ${output}, the checkpoint of the batch`, 'remove --jq or -o');
  if (!checkpoint && isResumed)
    throw usageFailure(
      `--resume needs the output file of the earlier run, but ${output} is not a regular file`,
      'name that file with -o',
    );
  return { output, checkpoint, filter };
}

/** A batch whose results are to be stored. */
export interface UnopenedBatch<Authorization> {
  readonly fileInput: BatchInput;
  readonly identity: BatchIdentity;
  /** The id of the run, if it is a new one. */
  readonly newRunId: string;
  readonly batchOptions: BatchOptions;
  /** Throws if the batch may not be sent; nothing is written before it has returned. */
  readonly authorize: () => Promise<Authorization>;
}

/**
 * Opens the result store of a batch, with the results of earlier runs. The input is compared with theirs before a line or a
 * credential is checked. Throws what that and `authorize` throw.
 */
export async function openResults<Authorization>(
  { output, checkpoint, filter }: BatchOutput,
  unopened: UnopenedBatch<Authorization>,
  context: Context,
): Promise<{ input: BatchInput; resultStore: ResultStore; authorization: Authorization }> {
  if (!checkpoint) {
    const { fileInput, identity, newRunId, authorize } = unopened;
    const authorization = await authorize();
    const sink = await openStreamSink(output, filter, context);
    return { input: fileInput, resultStore: createStreamStore(newRunId, identity, sink), authorization };
  }
  const { prior, input, differences, authorization } = await openComparedResults(checkpoint, unopened, context);
  return { input, resultStore: await openResultStore(prior, differences), authorization };
}

/**
 * Compares the input of a resumed batch with the results of earlier runs as `openResults` does, and throws what that throws.
 * Changes nothing. Returns the input to read.
 */
export async function compareCheckpoint<Authorization>(
  { checkpoint }: BatchOutput,
  unopened: UnopenedBatch<Authorization>,
  context: Context,
): Promise<BatchInput> {
  if (!checkpoint) return unopened.fileInput;
  const { prior, input } = await openComparedResults(checkpoint, unopened, context);
  await prior.release();
  return input;
}

async function openComparedResults<Authorization>(
  checkpoint: CheckpointPath,
  { fileInput, identity, newRunId, batchOptions, authorize }: UnopenedBatch<Authorization>,
  context: Context,
) {
  const { canAcceptChanges, isResumed, shard } = batchOptions;
  const use = { identity, newRunId, isResumed, canAcceptChanges };
  const prior = await openPriorResults(checkpoint, use, context.runtime, context.report);
  try {
    const compared = await compareWithPrior(fileInput, shard, prior, context.signal);
    const authorization = await authorize();
    const warning = removedResultsWarning(compared.differences.removedLines, fileInput.label, prior);
    if (warning !== undefined) await context.report.warn(warning);
    return { ...compared, prior, authorization };
  } catch (error) {
    await prior.release();
    throw error;
  }
}

// Nothing is read twice if no earlier run left anything.
async function compareWithPrior(
  fileInput: BatchInput,
  shard: Shard,
  prior: PriorResults,
  signal: AbortSignal,
): Promise<{ input: BatchInput; differences: Pick<InputDifferences, 'changedLines' | 'removedLines'> }> {
  if (prior.lineIndex.size() === 0 && (prior.inFlight?.lines.size ?? 0) === 0)
    return { input: fileInput, differences: { changedLines: [], removedLines: new Set() } };
  const [compared, input] = await fileInput.twice(dirname(prior.path), signal);
  return { input, differences: await compareInput(compared, shard, prior) };
}

async function openStreamSink(
  output: string | undefined,
  filter: JqFilter | undefined,
  { stdout, runtime }: Context,
): Promise<Sink> {
  const sink = await openSink(output, stdout, runtime.cwd);
  return filter ? filteredSink(sink, filter, (failure, line) => filterFailure(failure, line, true)) : sink;
}
