import { type Authorization, connect } from '../../client/connection.ts';
import { createResponseBudget, createTurns } from '../../client/response-memory.ts';
import type { Context } from '../../context.ts';
import { type Failure, type InterruptedError, toFailure } from '../../errors.ts';
import { createHeapLimit } from '../../files/heap-limit.ts';
import type { InputLine } from '../../files/split-lines.ts';
import { linkSignal } from '../../http/message.ts';
import { formatCount, formatPercent, formatSeconds, pluralize } from '../../output/transfer-text.ts';
import { type BatchCounts, totalLines } from '../../reports/batch/batch-statistics.ts';
import { selectedLines } from '../read/batch-input.ts';
import { digestInputLine } from '../store/result-line.ts';
import type { ResultStore } from '../store/result-store.ts';
import { concurrencyRange } from './concurrency.ts';
import { createRevisions } from './revisions.ts';
import { type BatchJob, type BatchPlan, type LineSlot, runLine } from './run-line.ts';
import { createScheduler, type Scheduler } from './scheduler.ts';

// The lines between two looks at the size of the heap leave 1 MB of garbage.
const LINES_PER_HEAP_CHECK = 16;

export interface BatchEnd {
  readonly tally: BatchCounts;
  readonly stopReason: string | undefined;
  /** The error of a signal. */
  readonly abortReason: unknown;
  readonly inputError: Failure | undefined;
  /** The first error of storing results. */
  readonly storeError: unknown;
  readonly elapsedMs: number;
  readonly job: BatchJob;
}

/** Sends the lines of an input, and stores every result. Prints nothing but progress and warnings about responses. */
export async function sendBatch(
  plan: BatchPlan,
  store: ResultStore,
  authorization: Authorization | undefined,
  context: Context,
): Promise<BatchEnd> {
  const { runtime, report, signal } = context;
  const { input, options } = plan;
  const checks = { ...plan.checks, run: store.batch.run };
  const { record } = plan;
  const { tally } = record;
  let storeError: unknown;
  const onStoreError = (error: unknown): void => {
    storeError ??= error;
  };
  const scheduler = createScheduler(options, concurrencyRange(options, checks.settings.operation), runtime, signal, {
    onNotice: (text) => void plan.checks.report?.note(text),
    // The rest of a file is counted; a pipe may never end.
    onStop: () => {
      if (input.totalBytes === undefined) input.stop();
    },
  });
  const connection = await connect(checks.settings, context, authorization, true);
  const shareMemory = createResponseBudget();
  const revisions = createRevisions(checks.warnings, store, record, scheduler, report.redact, onStoreError);
  const guardFor = plan.guardsOf?.(checks.run);
  const requests = { connection, scheduler, watch: revisions.watch, signal: linkSignal(signal).signal };
  const job: BatchJob = { ...plan, checks, store, guardFor, ...requests, runInSequence: createSequences(), context };
  const processLine = createLineProcess(job, shareMemory, onStoreError);
  const startedAt = runtime.elapsed();
  const elapsed = (): number => runtime.elapsed() - startedAt;
  const endSpinner = context.startSpinner(() =>
    formatBatchProgress(tally, input.totalBytes, scheduler, elapsed(), options.limit),
  );
  const interruption = stopWhenInterrupted(scheduler, context);
  try {
    const inputError = await startLines(job, processLine).then(() => undefined, toFailure);
    await connection.transport.finishIdle?.();
    await revisions.finish();
    endSpinner();
    const stopReason = scheduler.stopReason();
    // The rest of a pipe is not read after a reason to stop.
    const isReadWhole = !inputError && (stopReason === undefined || input.totalBytes !== undefined);
    const counts = isReadWhole ? { empty: tally.emptyLines, lines: tally.linesRead } : undefined;
    await store.finish(record.loseWritten, counts).catch(onStoreError);
    const abortReason: unknown = signal.reason ?? interruption();
    return { tally, stopReason, abortReason, inputError, storeError, elapsedMs: elapsed(), job };
  } finally {
    await connection.transport.close();
  }
}

// The returned function says what interrupted the run, if anything did.
function stopWhenInterrupted(scheduler: Scheduler, context: Context): () => InterruptedError | undefined {
  const { signal } = context;
  let interruption: InterruptedError | undefined;
  const onAbort = (): void => scheduler.stop(String(signal.reason.message));
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  context.onInterrupt((reason) => {
    interruption = reason;
    scheduler.stop(reason.message);
  });
  context.onProgressFacts(() => ({ applied: 'unknown', hint: 'continue the run with --resume' }));
  return () => interruption;
}

// Throws the error of reading the input when the lines before it are done.
async function startLines(
  { input, options, scheduler, record: { tally } }: BatchJob,
  processLine: (line: InputLine) => Promise<void>,
): Promise<void> {
  const limitHeap = createHeapLimit();
  try {
    const onRead = ({ offset, length }: InputLine): void => {
      tally.bytesRead = offset + length - (input.start ?? 0);
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
}

// Runs a line and counts its result; never throws.
function createLineProcess(
  job: BatchJob,
  shareMemory: ReturnType<typeof createResponseBudget>,
  onStoreError: (error: unknown) => void,
): (line: InputLine) => Promise<void> {
  const { scheduler, store, record } = job;
  const { isOrdered } = job.options;
  const takeTurn = isOrdered ? createTurns() : undefined;
  return async (line) => {
    const ordered = takeTurn?.();
    const put = async (result: Uint8Array | undefined): Promise<void> => {
      const endTurn = await ordered;
      const written = result && store.write(result);
      endTurn?.();
      await written;
    };
    const slot: LineSlot = {
      line,
      checkpoint: { input: digestInputLine(line), row: line.rowDigest, ...store.batch },
      put,
      turn: scheduler.createTurn(line.length),
      // With --ordered, a large response waits for the results before it, which need the memory first.
      memory: shareMemory(ordered),
      progress: { isRecorded: false, mayBeApplied: true, sentAt: undefined, hasResponse: false },
    };
    try {
      const result = await runLine(slot, job);
      record.add(line, result);
      await job.onResult?.(line.number, result);
    } catch (error) {
      record.addLost(line.number, slot.progress);
      onStoreError(error);
      scheduler.stop('the results cannot be written');
      slot.turn.release();
      // With --ordered, later results wait for this one.
      await put(undefined);
    } finally {
      slot.memory.release();
    }
  };
}

// Work with the same key runs one after the other, in the order of the calls.
function createSequences(): BatchJob['runInSequence'] {
  const last = new Map<string, Promise<unknown>>();
  return async (key, work) => {
    if (key === undefined) return work();
    const own = (last.get(key) ?? Promise.resolve()).then(work);
    const end = own
      .catch(() => {})
      .finally(() => {
        if (last.get(key) === end) last.delete(key);
      });
    last.set(key, end);
    return own;
  };
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
  const notDone = Object.entries({ failed, unknown }).filter(([, count]) => count > 0);
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
    ...notDone.map(([name, count]) => `${formatCount(count)} ${name}`),
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
