import { dirname, resolve } from 'node:path';
import type { BatchInput } from '../../batch/batch-input.ts';
import type { BatchIdentity } from '../../batch/batch-journal.ts';
import type { BatchOptions } from '../../batch/batch-options.ts';
import { formatLineRanges } from '../../batch/batch-summary.ts';
import type { OutputPath } from '../../batch/output-file.ts';
import {
  findInputDifferences,
  type InputDifferences,
  openPriorResults,
  otherInputFailure,
  type PriorResults,
} from '../../batch/prior-results.ts';
import { filterFailure } from '../../batch/result-line.ts';
import { createStreamStore, openResultStore, type ResultStore } from '../../batch/result-store.ts';
import type { Context } from '../../context.ts';
import { Failure, usageFailure } from '../../errors.ts';
import { isReplaceable } from '../../files/file-replacement.ts';
import { pluralize } from '../../json/pluralize.ts';
import { openSink } from '../../output/sink.ts';
import { filteredSink, type JqFilter } from '../../results/jq-filter.ts';

/** The output of a batch. */
interface BatchOutput {
  /** The value of `-o`. */
  readonly output: string | undefined;
  /** The file that can be resumed; undefined if the results go to a stream. */
  readonly file: OutputPath | undefined;
  readonly filter: JqFilter | undefined;
}

/**
 * Decides about the output: a regular file can be resumed, a pipe or a device takes the results and cannot. Throws usage for
 * flags that do not fit it, and Failure `local_file` if stdout is closed or discarded.
 */
export async function resolveOutput(
  output: string | undefined,
  filter: JqFilter | undefined,
  { isResumed }: BatchOptions,
  { runtime }: Context,
): Promise<BatchOutput> {
  const isStdout = output === undefined || output === '-';
  if (isStdout && runtime.isStdoutClosed())
    throw new Failure('local_file', 'stdout is closed or discarded, so nobody could read the results', {
      hint: 'write them to a file with -o',
      applied: 'no',
    });
  const path = isStdout ? undefined : resolve(runtime.cwd, output);
  const file = path && (await isReplaceable(path)) ? { path, displayPath: output ?? '-' } : undefined;
  if (file && filter) throw usageFailure(`--jq cannot filter ${output}, the output of the batch`, 'remove --jq or -o');
  if (!file && isResumed)
    throw usageFailure(
      `--resume needs the output file of the earlier run, but ${output} is not a regular file`,
      'name that file with -o',
    );
  return { output, file, filter };
}

/** A batch whose results are to be stored. */
interface UnopenedBatch {
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
  /** The input to read. */
  readonly input: BatchInput;
  readonly open: () => Promise<ResultStore>;
  readonly release: () => Promise<void>;
}

/**
 * Compares the input of a batch with the results of earlier runs, before a line or a credential is checked, and changes nothing.
 * Throws what that and `authorize` throw.
 */
export async function openResults(
  { output, file, filter }: BatchOutput,
  { fileInput, identity, newRun, batchOptions, authorize }: UnopenedBatch,
  { runtime, stdout, report, signal }: Context,
): Promise<ComparedResults> {
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
