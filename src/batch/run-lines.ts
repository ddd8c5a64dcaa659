import { type Authorization, connect } from '../client/connection.ts';
import type { Context } from '../context.ts';
import { type InterruptedError, toFailure } from '../errors.ts';
import type { InputLine } from '../files/split-lines.ts';
import { linkSignal, type Send } from '../http/message.ts';
import { pluralize } from '../json/pluralize.ts';
import { createHeapLimit } from '../train/stream/small-heap.ts';
import { type BatchInput, type LineSelection, selectedLines } from './batch-input.ts';
import type { BatchOptions } from './batch-options.ts';
import { createBatchRecord } from './batch-statistics.ts';
import { batchFailure, formatBatchProgress, formatBatchSummary, lostResultsFailure } from './batch-summary.ts';
import { causeLines, statisticsLines } from './report-text.ts';
import { type BatchJob, type LineOutput, runLine } from './run-line.ts';
import { createScheduler, createTurns } from './scheduler.ts';

// The lines between two looks at the size of the heap leave 1 MB of garbage.
const LINES_PER_HEAP_CHECK = 16;

/** How a batch ended, when every result is stored. */
export type BatchEnd = Awaited<ReturnType<typeof sendBatch>>;

/**
 * Sends the lines of an input over connections of their own, and stores every result. Prints nothing but progress and warnings
 * about responses.
 */
export async function sendBatch(
  input: BatchInput,
  options: BatchOptions & LineSelection,
  batch: Omit<BatchJob, 'connection' | 'scheduler' | 'signal' | 'canRetryUnknown' | 'context'>,
  authorization: Authorization | undefined,
  context: Context,
) {
  const { runtime, report, signal } = context;
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
  const connected = await connect(batch.settings, context, authorization, true);
  const { transport } = connected;
  // Before each attempt: a retry may come long after the record of its line.
  const send: Send = async (request) => {
    batch.resultStore.requireHeld();
    return transport.send(request);
  };
  const connection = { ...connected, transport: { ...transport, send } };
  const job = { ...batch, connection, scheduler, signal: linkSignal(signal).signal, canRetryUnknown, context };
  const record = createBatchRecord(batch.runReport);
  const { tally } = record;
  const openSlot = isOrdered ? createOrderedSlots(write) : () => async (result?: Uint8Array) => result && write(result);
  const revisions: Promise<void>[] = [];
  let isFinished = false;
  let storeError: unknown;
  let interruption: InterruptedError | undefined;
  // The first one is reported.
  const keepStoreError = (error: unknown): void => {
    storeError ??= error;
  };
  const revise: LineOutput['revise'] = (revision) => {
    if (isFinished) return;
    const { line, failure } = revision;
    record.revise(revision);
    scheduler.reviseOutcome({ failure, status: 'unknown' });
    const warned = job.warnings.addResponseWarnings(line, [failure.facts.summary ?? failure.message]);
    revisions.push(Promise.all([revision.write(), warned]).then(() => {}, keepStoreError));
  };
  const processLine = async (line: InputLine): Promise<void> => {
    const put = openSlot();
    const turn = scheduler.createTurn();
    const progress: LineOutput['progress'] = { mayBeApplied: true, isRecorded: false, hasResponse: false };
    const onOutcome: LineOutput['onOutcome'] = (outcome) => {
      scheduler.addOutcome(outcome);
      turn.release();
    };
    try {
      const result = await runLine(line, { put, progress, revise, onOutcome, turn }, job);
      record.add(line, result);
      await job.onResult?.(line.number, result);
      const used = tally.promptTokens.sum() + tally.completionTokens.sum();
      if (maxTotalTokens !== undefined && used >= maxTotalTokens)
        scheduler.stop(`--max-total-tokens ${maxTotalTokens} was reached: ${used} tokens were used`);
    } catch (error) {
      // Its result is not recorded; if it may have been applied, it counts as unknown with --resume.
      record.addLost(line.number, progress.mayBeApplied ? 'unknown' : 'unsent');
      if (progress.sentAt !== undefined) tally.sentLines += 1;
      if (progress.hasResponse) tally.lostResults += 1;
      keepStoreError(error);
      scheduler.stop('the results cannot be written');
      turn.release();
      // With --ordered, later results wait for this one.
      await put(undefined);
    }
  };
  // Throws the error of reading the input when the lines before it are done.
  const sendLines = async (): Promise<void> => {
    const limitHeap = createHeapLimit();
    const onRead = ({ offset, length }: InputLine): void => {
      tally.bytesRead = offset + length;
    };
    const onEmpty = (): void => {
      tally.emptyLines += 1;
    };
    try {
      for await (const line of selectedLines(input, options, { onRead, onEmpty })) {
        tally.linesRead += 1;
        if (tally.linesRead % LINES_PER_HEAP_CHECK === 0) limitHeap();
        await scheduler.start(() => processLine(line));
      }
    } finally {
      await scheduler.waitForAll();
    }
  };
  const startedAt = runtime.elapsed();
  const elapsed = (): number => runtime.elapsed() - startedAt;
  const progress = { tally, totalBytes: input.totalBytes, currentLimit, elapsed, stopReason };
  const endSpinner = context.startSpinner(() => formatBatchProgress(progress));
  const onAbort = (): void => scheduler.stop(String(signal.reason.message));
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  context.onInterrupt((reason) => {
    interruption = reason;
    scheduler.stop(reason.message);
  });
  context.onProgressFacts(() => ({ applied: 'unknown', hint: 'continue the run with --resume' }));
  try {
    const inputError = await sendLines().then(() => undefined, toFailure);
    await connection.transport.finishIdle?.();
    isFinished = true;
    await Promise.all(revisions);
    endSpinner();
    const onLostResults = (count: number): void => {
      tally.lostResults += count;
      tally.byStatus.unknown += tally.byStatus.done;
      tally.byStatus.done = 0;
    };
    await finish(onLostResults).catch(keepStoreError);
    const abortReason: unknown = signal.reason ?? interruption;
    const elapsedMs = elapsed();
    return { tally, stopReason: stopReason(), abortReason, inputError, storeError, elapsedMs, maxTotalTokens, job };
  } finally {
    await connection.transport.close();
  }
}

/** Reports how a batch ended. Throws the Failure of the batch as a whole. */
export async function reportBatch(end: BatchEnd): Promise<void> {
  const { tally, inputError, storeError, job } = end;
  const { warnings, runReport } = job;
  const { report } = job.context;
  const { isResumable } = job.resultStore;
  await warnings.finish();
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
