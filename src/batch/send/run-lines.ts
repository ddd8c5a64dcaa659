import { type Authorization, connect } from '../../client/connection.ts';
import type { Context } from '../../context.ts';
import { type InterruptedError, toFailure } from '../../errors.ts';
import type { InputLine } from '../../files/split-lines.ts';
import { linkSignal, type Send } from '../../http/message.ts';
import { pluralize } from '../../json/pluralize.ts';
import { formatCount, formatPercent, formatSeconds } from '../../output/transfer-text.ts';
import { type BatchCounts, createBatchRecord, totalLines } from '../../reports/batch/batch-statistics.ts';
import { createHeapLimit } from '../../train/stream/small-heap.ts';
import type { BatchOptions } from '../batch-options.ts';
import type { BatchInput } from '../read/batch-input.ts';
import { type LineSelection, selectedLines } from '../read/selected-lines.ts';
import { digestInputLine, formatResult } from '../store/result-line.ts';
import { concurrencyRange } from './concurrency.ts';
import { type BatchJob, type LineRun, runLine } from './run-line.ts';
import { createScheduler, createTurns, type Scheduler } from './scheduler.ts';

// The lines between two looks at the size of the heap leave 1 MB of garbage.
const LINES_PER_HEAP_CHECK = 16;

export type BatchEnd = Awaited<ReturnType<typeof sendBatch>>;

/** Sends the lines of an input, and stores every result. Prints nothing but progress and warnings about responses. */
export async function sendBatch(
  input: BatchInput,
  options: BatchOptions & LineSelection,
  batch: Omit<BatchJob, 'connection' | 'scheduler' | 'signal' | 'canRetryUnknown' | 'revise' | 'context'>,
  authorization: Authorization | undefined,
  context: Context,
) {
  const { runtime, report, signal } = context;
  const { limit, maxTotalTokens, isOrdered, canRetryUnknown } = options;
  const record = createBatchRecord(batch.runReport);
  const { tally } = record;
  const revisions: Promise<void>[] = [];
  let isFinished = false;
  let storeError: unknown;
  let interruption: InterruptedError | undefined;
  const keepStoreError = (error: unknown): void => {
    storeError ??= error;
  };
  const { write, finish } = batch.resultStore;
  const scheduler = createScheduler(options, concurrencyRange(options, batch.settings.operation), runtime, signal, {
    onOutage: ({ message }, limit) =>
      void report.note(`${message}; the batch waits and retries with one line at a time, for up to ${limit}`),
    // The rest of a file is counted; a pipe may never end.
    onStop: () => {
      if (input.totalBytes === undefined) input.stop();
    },
  });
  const connected = await connect(batch.settings, context, authorization, true);
  const { transport } = connected;
  // Before each attempt: a retry may come long after the record of its line.
  const send: Send = async (request) => {
    batch.resultStore.requireHeld();
    return transport.send(request);
  };
  const connection = { ...connected, transport: { ...transport, send } };
  const revise = (run: LineRun): void => {
    const { line, stored } = run;
    if (isFinished || !stored) return;
    run.stored = undefined;
    run.revision += 1;
    const failure = stored.createDoubt();
    record.revise(line, failure, stored.state);
    scheduler.addOutcome({ failure, status: 'unknown' }, true);
    const warned = batch.warnings.addResponseWarnings(line, [failure.facts.summary ?? failure.message]);
    const result = formatResult(run, null, stored.response, failure, report.redact);
    const revised = stored.written.then(() => batch.resultStore.revise(result));
    revisions.push(Promise.all([revised, warned]).then(() => {}, keepStoreError));
  };
  const job = { ...batch, connection, scheduler, signal: linkSignal(signal).signal, canRetryUnknown, revise, context };
  const takeTurn = isOrdered ? createTurns() : undefined;
  const processLine = async (line: InputLine): Promise<void> => {
    const ordered = takeTurn?.();
    const run: LineRun = {
      line: line.number,
      checkpoint: { input: digestInputLine(line), row: line.rowDigest, ...job.resultStore.batch },
      id: undefined,
      attempts: 0,
      milliseconds: 0,
      revision: 0,
      put: async (result) => {
        const endTurn = await ordered;
        const written = result && write(result);
        endTurn?.();
        await written;
      },
      turn: scheduler.createTurn(),
      prior: { entry: undefined, sentAtMs: undefined, applied: 'unknown' },
      timestampMs: 0,
      isRecorded: false,
      hasResponse: false,
      hasStrayData: false,
    };
    try {
      const result = await runLine(line, run, job);
      record.add(line, result);
      await job.onResult?.(line.number, result);
      const used = tally.promptTokens.sum() + tally.completionTokens.sum();
      if (maxTotalTokens !== undefined && used >= maxTotalTokens)
        scheduler.stop(`--max-total-tokens ${maxTotalTokens} was reached: ${used} tokens were used`);
    } catch (error) {
      // Its result is not recorded; if it may have been applied, it counts as unknown with --resume.
      const isUnsent = run.sentAt === undefined && run.prior.applied === 'no';
      record.addLost(line.number, isUnsent ? 'unsent' : 'unknown');
      if (run.sentAt !== undefined) tally.sentLines += 1;
      if (run.hasResponse) tally.lostResults += 1;
      keepStoreError(error);
      scheduler.stop('the results cannot be written');
      run.turn.release();
      // With --ordered, later results wait for this one.
      await run.put(undefined);
    }
  };
  // Throws the error of reading the input when the lines before it are done.
  const sendLines = async (): Promise<void> => {
    const limitHeap = createHeapLimit();
    try {
      const onRead = ({ offset, length }: InputLine): void => {
        tally.bytesRead = offset + length;
      };
      const onEmpty = (): void => {
        tally.emptyLines += 1;
      };
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
  const endSpinner = context.startSpinner(() =>
    formatBatchProgress(tally, input.totalBytes, scheduler, elapsed(), limit),
  );
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
    return {
      tally,
      stopReason: scheduler.stopReason(),
      abortReason,
      inputError,
      storeError,
      elapsedMs,
      maxTotalTokens,
      job,
    };
  } finally {
    await connection.transport.close();
  }
}

/** The progress line of a batch. The total and the time left are estimated until the input is read to its end. */
export function formatBatchProgress(
  tally: BatchCounts,
  totalBytes: number | undefined,
  { describeProgress, stopReason }: Pick<Scheduler, 'describeProgress' | 'stopReason'>,
  elapsedMs: number,
  limit = Number.POSITIVE_INFINITY,
): string {
  const { failed, unknown } = tally.byStatus;
  const lines = totalLines(tally);
  const reason = stopReason();
  if (reason) {
    const inFlight = tally.linesRead - lines;
    const next = reason === 'interrupted' ? '; press Ctrl-C again to stop at once' : '';
    return `${reason}; waiting for ${formatCount(inFlight)} ${pluralize(inFlight, 'request')} in flight${next}`;
  }
  // The results of earlier runs take no time.
  const linesPerSecond = tally.sentLines / (Math.max(elapsedMs, 1) / 1000);
  const estimate = estimateTotal(tally, totalBytes);
  const total = estimate && Math.min(estimate, limit);
  const about = total !== limit && tally.bytesRead < (totalBytes ?? 0) ? 'about ' : '';
  const parts = [
    total
      ? `${formatCount(lines)} of ${about}${formatCount(total)} ${pluralize(total, 'line')} (${formatPercent(lines, total)})`
      : `${formatCount(lines)} ${pluralize(lines, 'line')}`,
    ...(failed + unknown > 0 ? [`${formatCount(failed + unknown)} failed`] : []),
    `${Math.round(linesPerSecond)}/s`,
    ...(total && linesPerSecond > 0 ? [`${formatSeconds((total - lines) / linesPerSecond)} left`] : []),
    describeProgress(),
  ];
  return parts.join(', ');
}

function estimateTotal({ linesRead, bytesRead }: BatchCounts, totalBytes: number | undefined): number | undefined {
  if (totalBytes === undefined || bytesRead === 0) return undefined;
  return Math.max(linesRead, Math.round((linesRead * totalBytes) / bytesRead));
}
