import { type InterruptedError, toFailure } from '../errors.ts';
import type { InputLine } from '../files/split-lines.ts';
import { pluralize } from '../json/pluralize.ts';
import { createHeapLimit } from '../train/stream/small-heap.ts';
import { type BatchInput, type LineSelection, selectedLines } from './batch-input.ts';
import type { BatchOptions } from './batch-options.ts';
import { type BatchCounts, type BatchRecord, createBatchRecord } from './batch-statistics.ts';
import { batchFailure, formatBatchProgress, formatBatchSummary, lostResultsFailure } from './batch-summary.ts';
import type { LineRevision } from './line-result.ts';
import { causeLines, statisticsLines } from './report-text.ts';
import { type BatchJob, type LineOutput, runLine } from './run-line.ts';

// The lines between two looks at the size of the heap leave 1 MB of garbage.
const LINES_PER_HEAP_CHECK = 16;

/** How a batch ended, when every result is stored. */
export interface BatchEnd {
  readonly tally: BatchCounts;
  /** Why no more lines were taken; undefined if all were. */
  readonly stopReason: string | undefined;
  /** The signal that ended the batch. */
  readonly abortReason: unknown;
  readonly inputError: unknown;
  readonly storeError: unknown;
  readonly elapsedMs: number;
  /** The limit of tokens of this run. */
  readonly maxTotalTokens: number | undefined;
  readonly job: BatchJob;
}

interface BatchRun {
  readonly job: BatchJob;
  readonly record: BatchRecord;
  readonly openSlot: () => ResultSlot;
  readonly maxTotalTokens: number | undefined;
  /** Revised results that are being written. */
  readonly revisions: Promise<void>[];
  storeError: unknown;
  isFinished: boolean;
}

/** Runs all lines of an input, and stores every result. Prints nothing but progress and warnings about responses. */
export async function runLines(
  input: BatchInput,
  options: LineSelection & Pick<BatchOptions, 'isOrdered' | 'maxTotalTokens'>,
  job: BatchJob,
): Promise<BatchEnd> {
  const { runtime, startSpinner, signal } = job.context;
  const startedAt = runtime.elapsed();
  const elapsed = (): number => runtime.elapsed() - startedAt;
  const record = createBatchRecord(job.runReport);
  const { tally } = record;
  const { write, finish } = job.resultStore;
  const openSlot = options.isOrdered
    ? createOrderedSlots(write)
    : (): ResultSlot => async (result) => result && write(result);
  const { maxTotalTokens } = options;
  const run: BatchRun = {
    job,
    record,
    openSlot,
    maxTotalTokens,
    revisions: [],
    storeError: undefined,
    isFinished: false,
  };
  const { currentLimit, stopReason } = job.scheduler;
  const progress = { tally, totalBytes: input.totalBytes, currentLimit, elapsed, stopReason };
  const endSpinner = startSpinner(() => formatBatchProgress(progress));
  const interruption = stopOnSignals(job);
  const inputError = await sendLines(input, options, run).then(() => undefined, toFailure);
  await job.connection.transport.finishIdle?.();
  run.isFinished = true;
  await Promise.all(run.revisions);
  endSpinner();
  const onLostResults = (count: number): void => {
    tally.lostResults += count;
    tally.byStatus.unknown += tally.byStatus.done;
    tally.byStatus.done = 0;
  };
  await finish(onLostResults).catch(keepStoreError(run));
  const abortReason = signal.reason ?? interruption();
  const { storeError } = run;
  return {
    tally,
    stopReason: stopReason(),
    abortReason,
    inputError,
    storeError,
    elapsedMs: elapsed(),
    maxTotalTokens,
    job,
  };
}

// The first one is reported.
function keepStoreError(run: BatchRun): (error: unknown) => void {
  return (error) => {
    run.storeError ??= error;
  };
}

// Returns the signal that ended the batch in order, if one did.
function stopOnSignals({ context, scheduler }: BatchJob): () => InterruptedError | undefined {
  const { signal } = context;
  const onAbort = (): void => scheduler.stop(String(signal.reason.message));
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  let interruption: InterruptedError | undefined;
  context.onInterrupt((reason) => {
    interruption = reason;
    scheduler.stop(reason.message);
  });
  context.onProgressFacts(() => ({ applied: 'unknown', hint: 'continue the run with --resume' }));
  return () => interruption;
}

// Throws the error of reading the input when the lines before it are done.
async function sendLines(input: BatchInput, options: LineSelection, run: BatchRun): Promise<void> {
  const { tally } = run.record;
  const { scheduler } = run.job;
  const limitHeap = createHeapLimit();
  const lines = selectedLines(input, options, {
    onRead: ({ offset, length }) => {
      tally.bytesRead = offset + length;
    },
    onEmpty: () => {
      tally.emptyLines += 1;
    },
  });
  try {
    for await (const line of lines) {
      tally.linesRead += 1;
      if (tally.linesRead % LINES_PER_HEAP_CHECK === 0) limitHeap();
      await scheduler.start(() => processLine(line, run));
    }
  } finally {
    await scheduler.waitForAll();
  }
}

async function processLine(line: InputLine, run: BatchRun): Promise<void> {
  const { job, record } = run;
  const { scheduler } = job;
  const { tally } = record;
  const write = run.openSlot();
  const turn = scheduler.createTurn();
  const progress = { mayBeApplied: true, isSent: false, hasResponse: false };
  let hasOutcome = false;
  const output: LineOutput = {
    put: (result) =>
      write(result).catch((error: unknown) => {
        if (progress.hasResponse) tally.lostResults += 1;
        throw error;
      }),
    progress,
    revise: (revision) => reviseLine(revision, run),
    onOutcome: (outcome) => {
      if (hasOutcome) return;
      hasOutcome = true;
      scheduler.addOutcome(outcome);
      turn.release();
    },
    turn,
  };
  try {
    const result = await runLine(line, output, job);
    record.add(line, result);
    await job.onResult?.(line.number, result);
    output.onOutcome(result);
    stopAtTokens(run);
  } catch (error) {
    // Its result is not recorded; if it may have been applied, it counts as unknown with --resume.
    record.addLost(line.number, progress.mayBeApplied ? 'unknown' : 'unsent');
    if (progress.isSent) tally.sentLines += 1;
    run.storeError ??= error;
    scheduler.stop('the results cannot be written');
    turn.release();
    // With --ordered, later results wait for this one.
    await write(undefined);
  }
}

function stopAtTokens({ record: { tally }, maxTotalTokens, job }: BatchRun): void {
  const used = tally.promptTokens.sum() + tally.completionTokens.sum();
  if (maxTotalTokens !== undefined && used >= maxTotalTokens)
    job.scheduler.stop(`--max-total-tokens ${maxTotalTokens} was reached: ${used} tokens were used`);
}

function reviseLine(revision: LineRevision, run: BatchRun): void {
  if (run.isFinished) return;
  const { line, failure, write } = revision;
  run.record.revise(revision);
  run.job.scheduler.reviseOutcome({ failure, status: 'unknown' });
  const warned = run.job.responseWarnings.add(line, [failure.facts.summary ?? failure.message]);
  run.revisions.push(Promise.all([write(), warned]).then(() => {}, keepStoreError(run)));
}

/** Reports how a batch ended. Throws the Failure of the batch as a whole. */
export async function reportBatch(end: BatchEnd): Promise<void> {
  const { tally, inputError, storeError, job } = end;
  const { customIds, responseWarnings, runReport } = job;
  const { report } = job.context;
  const { isResumable } = job.resultStore;
  await customIds.finish();
  await responseWarnings.finish();
  const summary = formatBatchSummary(tally, end.elapsedMs);
  const reportFailure = await runReport?.save().then(() => undefined, toFailure);
  for (const text of causeLines(tally)) await report.error(text);
  for (const text of statisticsLines(tally)) await report.note(text);
  const uncounted = tally.byStatus.done - tally.promptTokens.count();
  if (end.maxTotalTokens !== undefined && uncounted > 0)
    await report.warn(
      `--max-total-tokens did not count ${uncounted} ${pluralize(uncounted, 'response')} without usage`,
    );
  const skipped = job.scheduler.skippedRetries();
  if (skipped > 0)
    await report.note(
      `${skipped} ${pluralize(skipped, 'failure was', 'failures were')} not retried, because the service failed every recent request`,
    );
  if (storeError ?? inputError) {
    await report.note(summary);
    throw storeError === undefined ? inputError : lostResultsFailure(storeError, tally, isResumable);
  }
  const failure = batchFailure({ ...end, summary, isResumable });
  if (failure && reportFailure) await report.warn(reportFailure.message);
  if (failure) throw failure;
  await report.note(summary);
  if (reportFailure) throw reportFailure;
}

/** Writes one result, or nothing, when it is its turn. After a failed write nothing more is written. */
type ResultSlot = LineOutput['put'];

/** Results in the order of their slots; early ones are held. `write` has to keep the order of its calls. */
function createOrderedSlots(write: (result: Uint8Array) => Promise<void>): () => ResultSlot {
  const pendingWrites = new Map<number, () => void>();
  let slotCount = 0;
  let nextSlot = 0;
  return () => {
    const index = slotCount;
    slotCount += 1;
    return (result) =>
      new Promise((resolve, reject) => {
        // Its turn is over.
        if (index < nextSlot) return resolve();
        pendingWrites.set(index, () => void (result ? write(result) : Promise.resolve()).then(resolve, reject));
        for (let writeNext = pendingWrites.get(nextSlot); writeNext; writeNext = pendingWrites.get(nextSlot)) {
          pendingWrites.delete(nextSlot);
          nextSlot += 1;
          writeNext();
        }
      });
  };
}
