import type { Authorization } from '../client/authorization.ts';
import { connect } from '../client/send.ts';
import type { Context } from '../context.ts';
import { type InterruptedError, toFailure } from '../errors.ts';
import type { InputLine } from '../files/split-lines.ts';
import { linkSignal, type Send } from '../http/message.ts';
import { pluralize } from '../json/pluralize.ts';
import { createHeapLimit } from '../train/stream/small-heap.ts';
import { type BatchInput, type LineSelection, selectedLines } from './batch-input.ts';
import type { BatchOptions } from './batch-options.ts';
import { type BatchCounts, type BatchRecord, createBatchRecord } from './batch-statistics.ts';
import {
  batchFailure,
  createResponseWarnings,
  formatBatchProgress,
  formatBatchSummary,
  lostResultsFailure,
} from './batch-summary.ts';
import type { LineRevision } from './line-result.ts';
import { causeLines, statisticsLines } from './report-text.ts';
import { type BatchJob, type LineOutput, runLine } from './run-line.ts';
import { createScheduler, createTurns } from './scheduler.ts';

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
  readonly maxTotalTokens: number | undefined;
  readonly job: BatchJob;
}

interface BatchRun {
  readonly job: BatchJob;
  readonly record: BatchRecord;
  readonly openSlot: () => LineOutput['put'];
  readonly maxTotalTokens: number | undefined;
  /** Revised results that are being written. */
  readonly revisions: Promise<void>[];
  storeError: unknown;
  isFinished: boolean;
}

/**
 * Sends the lines of an input over connections of their own, and stores every result. Prints nothing but progress and warnings
 * about responses.
 */
export async function sendBatch(
  input: BatchInput,
  options: BatchOptions & LineSelection,
  batch: Omit<BatchJob, 'connection' | 'scheduler' | 'signal' | 'canRetryUnknown' | 'responseWarnings' | 'context'>,
  authorization: Authorization | undefined,
  context: Context,
): Promise<BatchEnd> {
  const { runtime, report, signal, startSpinner } = context;
  const { maxTotalTokens, isOrdered, canRetryUnknown } = options;
  const { write, finish } = batch.resultStore;
  const scheduler = createScheduler(options, runtime, signal, {
    onOutage: ({ message }) => void report.note(`${message}; the batch waits and retries with one line at a time`),
    // The rest of a file is counted; a pipe may never end.
    onStop: () => {
      if (input.totalBytes === undefined) input.stop();
    },
  });
  const { currentLimit, stopReason } = scheduler;
  const connected = await connect(batch.settings, context, { isReused: true, authorization });
  const { transport } = connected;
  // Before each attempt: a retry may come long after the record of its line.
  const send: Send = async (request) => {
    batch.resultStore.requireHeld();
    return transport.send(request);
  };
  const connection = { ...connected, transport: { ...transport, send } };
  const responseWarnings = createResponseWarnings(report);
  const ends = linkSignal(signal).signal;
  const job = { ...batch, connection, scheduler, signal: ends, canRetryUnknown, responseWarnings, context };
  const record = createBatchRecord(batch.runReport);
  const { tally } = record;
  const openSlot = isOrdered ? createOrderedSlots(write) : () => async (result?: Uint8Array) => result && write(result);
  const run: BatchRun = {
    job,
    record,
    openSlot,
    maxTotalTokens,
    revisions: [],
    storeError: undefined,
    isFinished: false,
  };
  const startedAt = runtime.elapsed();
  const elapsed = (): number => runtime.elapsed() - startedAt;
  const progress = { tally, totalBytes: input.totalBytes, currentLimit, elapsed, stopReason };
  const endSpinner = startSpinner(() => formatBatchProgress(progress));
  const interruption = stopOnSignals(job);
  try {
    const inputError = await sendLines(input, options, run).then(() => undefined, toFailure);
    await transport.finishIdle?.();
    run.isFinished = true;
    await Promise.all(run.revisions);
    endSpinner();
    const onLostResults = (count: number): void => {
      tally.lostResults += count;
      tally.byStatus.unknown += tally.byStatus.done;
      tally.byStatus.done = 0;
    };
    await finish(onLostResults).catch(keepStoreError(run));
    const { storeError } = run;
    const abortReason = signal.reason ?? interruption();
    const elapsedMs = elapsed();
    return { tally, stopReason: stopReason(), abortReason, inputError, storeError, elapsedMs, maxTotalTokens, job };
  } finally {
    await transport.close();
  }
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
  const write = run.openSlot();
  const turn = scheduler.createTurn();
  const progress: LineOutput['progress'] = { mayBeApplied: true, isRecorded: false, hasResponse: false };
  const output: LineOutput = {
    put: (result) =>
      write(result).catch((error: unknown) => {
        if (progress.hasResponse) record.tally.lostResults += 1;
        throw error;
      }),
    progress,
    revise: (revision) => reviseLine(revision, run),
    onOutcome: (outcome) => {
      scheduler.addOutcome(outcome);
      turn.release();
    },
    turn,
  };
  try {
    const result = await runLine(line, output, job);
    record.add(line, result);
    await job.onResult?.(line.number, result);
    stopAtTokens(run);
  } catch (error) {
    // Its result is not recorded; if it may have been applied, it counts as unknown with --resume.
    record.addLost(line.number, progress.mayBeApplied ? 'unknown' : 'unsent');
    if (progress.sentAt !== undefined) record.tally.sentLines += 1;
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

// Results in the order of their slots; early ones are held. `write` has to keep the order of its calls.
function createOrderedSlots(write: (result: Uint8Array) => Promise<void>): () => LineOutput['put'] {
  const takeTurn = createTurns();
  return () => {
    const turn = takeTurn();
    let isOver = false;
    return async (result) => {
      const endTurn = await turn;
      if (isOver) return;
      isOver = true;
      const written = result && write(result);
      endTurn();
      await written;
    };
  };
}
