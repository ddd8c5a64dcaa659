import { isIdempotent } from '../client/idempotency.ts';
import { InterruptedError, toFailure } from '../errors.ts';
import { createHeapLimit } from '../train/stream/small-heap.ts';
import { countLine, createBatchCounts, formatBatchProgress } from './batch-counts.ts';
import type { BatchInput } from './batch-input.ts';
import type { BatchJob } from './batch-job.ts';
import type { BatchOptions, MaxFailures } from './batch-options.ts';
import { addResult, createBatchStatistics } from './batch-statistics.ts';
import { batchFailure, formatBatchSummary, lostResultsFailure } from './batch-summary.ts';
import { createConcurrencyLimit } from './concurrency-limit.ts';
import { createPermitHold } from './rate-limiter.ts';
import { statisticsLines } from './report-text.ts';
import type { ResultSlot } from './result-order.ts';
import { type LineOutput, type LineResult, runLine } from './run-line.ts';
import { isInShard } from './shard.ts';
import { type InputLine, isEmptyLine } from './split-lines.ts';

// Lines that are being prepared, wait for a retry or for their slot, besides those in flight.
const LINES_PER_REQUEST = 4;
const ORDERED_LINES_PER_REQUEST = 16;

// The lines between two looks at the size of the heap leave 1 MB of garbage.
const LINES_PER_HEAP_CHECK = 16;

// A longer Retry-After stops the batch: the rest is better sent later.
const MAX_BATCH_WAIT_MS = 60_000;

/** Runs all lines of an input. Throws the Failure of the batch as a whole, after every result is recorded. */
export async function runLines(input: BatchInput, options: BatchOptions, job: BatchJob): Promise<void> {
  const { context, resultStore, openSlot } = job;
  const { runtime, signal } = context;
  const tally = createBatchCounts();
  const concurrencyLimit = createConcurrencyLimit(
    options.rateLimits.concurrency * (options.isOrdered ? ORDERED_LINES_PER_REQUEST : LINES_PER_REQUEST),
  );
  const startedAt = runtime.elapsed();
  let stopReason: string | undefined;
  let storeError: unknown;
  let failureCount = 0;
  let outcomeCount = 0;
  const statistics = createBatchStatistics();
  const stop = (reason: string): void => {
    stopReason ??= reason;
    job.stopController.abort(new InterruptedError('SIGINT'));
    // The rest of a file is counted; a pipe may never end.
    if (input.totalBytes === undefined) input.stop();
  };
  const stopIfNeeded = ({ failure, status }: Pick<LineResult, 'failure' | 'status'>): void => {
    if (failure && options.isFailFast) stop('a line failed (--fail-fast)');
    if (failure && status !== 'unsent') failureCount += 1;
    if (exceedsMaxFailures(failureCount, outcomeCount, options.maxFailures))
      stop(`${failureCount} ${failureCount === 1 ? 'line' : 'lines'} failed (--max-failures)`);
    const retryAfterMs = failure?.facts.retryAfter ?? 0;
    if (retryAfterMs > MAX_BATCH_WAIT_MS) stop(`the service asks to wait ${Math.ceil(retryAfterMs / 1000)} s`);
  };
  const revisions: Promise<void>[] = [];
  let isFinished = false;
  const revise: LineOutput['revise'] = ({ line, failure, earlier, write }) => {
    if (isFinished) return;
    tally.byStatus[earlier.status] -= 1;
    countLine(tally, line, 'unknown');
    if (!earlier.isUnresolved) tally.unresolvedLines += 1;
    const facts = { httpStatus: undefined, attempts: 0, milliseconds: 0, response: undefined };
    addResult(statistics, { line, status: 'unknown', message: failure.message, ...facts });
    job.junit?.add(`line ${line}`, 0, failure);
    stopIfNeeded({ failure, status: 'unknown' });
    const warnings = [failure.facts.summary ?? failure.message];
    revisions.push(
      Promise.all([write(), job.responseWarnings.add(line, warnings)]).then(
        () => {},
        (error: unknown) => {
          storeError ??= error;
        },
      ),
    );
  };
  const processLine = async (line: InputLine): Promise<void> => {
    const slot = openSlot();
    const put: ResultSlot['put'] = (result) =>
      slot.put(result).catch((error: unknown) => {
        if (result) tally.lostResults += 1;
        throw error;
      });
    const permitHold = createPermitHold();
    let hasOutcome = false;
    const onOutcome: LineOutput['onOutcome'] = (outcome) => {
      if (hasOutcome) return;
      hasOutcome = true;
      if (outcome.status !== 'unsent') outcomeCount += 1;
      stopIfNeeded(outcome);
      permitHold.end();
    };
    try {
      const result = await runLine(line, { put, revise, onOutcome, permitHold }, job);
      tally.retries += Math.max(0, result.attempts - 1);
      countLine(tally, line.number, result.status);
      if (result.status !== 'unsent') addResult(statistics, { line: line.number, ...result });
      if (result.isUnresolved) tally.unresolvedLines += 1;
      if (result.status !== 'unsent') job.junit?.add(`line ${line.number}`, result.milliseconds, result.failure);
      onOutcome(result);
      const outageReason = job.outage.stopReason();
      if (outageReason !== undefined) stop(outageReason);
    } catch (error) {
      // Its result is not recorded; with --resume it counts as unknown.
      countLine(tally, line.number, 'unknown');
      storeError ??= error;
      stop('the results cannot be written');
      permitHold.end();
      // With --ordered, later results wait for this one.
      await slot.put(undefined);
    }
  };
  const elapsed = (): number => runtime.elapsed() - startedAt;
  const progress = { tally, totalBytes: input.totalBytes, currentLimit: job.rateLimiter.currentLimit, elapsed };
  const endSpinner = context.startSpinner(() => formatBatchProgress(progress));
  const onAbort = (): void => stop(String(signal.reason.message));
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  let interruption: InterruptedError | undefined;
  context.onInterrupt((reason) => {
    interruption = reason;
    stop(reason.message);
  });
  context.onProgressFacts(() => ({ applied: 'unknown', hint: 'continue the run with --resume' }));
  const limitHeap = createHeapLimit();
  let inputError: unknown;
  try {
    for await (const line of input.lines) {
      tally.bytesRead = line.offset + line.length;
      if (!isInShard(line.number, options.shard)) continue;
      if (isEmptyLine(line)) {
        tally.emptyLines += 1;
        continue;
      }
      tally.linesRead += 1;
      if (tally.linesRead % LINES_PER_HEAP_CHECK === 0) limitHeap();
      if (stopReason !== undefined) countLine(tally, line.number, 'unsent');
      else await concurrencyLimit.start(() => processLine(line));
    }
  } catch (error) {
    inputError = error;
  }
  await concurrencyLimit.waitForAll();
  await job.finishConnections();
  isFinished = true;
  await Promise.all(revisions);
  endSpinner();
  await job.customIds.finish();
  await job.responseWarnings.finish();
  // A resumed run sends lines that were applied again only if that is safe.
  const openLines = isIdempotent(job.operation.effect) ? tally.unresolvedLines : tally.byStatus.unknown;
  const isComplete = stopReason === undefined && inputError === undefined && openLines + tally.byStatus.unsent === 0;
  const onLostResults = (count: number): void => {
    tally.lostResults += count;
  };
  await resultStore.finish(isComplete, onLostResults).catch((error: unknown) => {
    storeError ??= error;
  });
  const summary = formatBatchSummary(tally, elapsed());
  const reportFailure = await job.junit?.save().then(() => undefined, toFailure);
  for (const text of statisticsLines(statistics)) await context.report.note(text);
  if (storeError ?? inputError) {
    await context.report.note(summary);
    throw storeError === undefined ? toFailure(inputError) : lostResultsFailure(storeError, tally);
  }
  const failure = batchFailure({
    tally,
    summary,
    stopReason,
    abortReason: signal.reason ?? interruption,
    isResumable: resultStore.isResumable,
    isIdempotent: isIdempotent(job.operation.effect),
  });
  if (failure && reportFailure) await context.report.warn(reportFailure.message);
  if (failure) throw failure;
  await context.report.note(summary);
  if (reportFailure) throw reportFailure;
}

// A percentage of few lines says little.
const MIN_LINES_FOR_PERCENTAGE = 20;

function exceedsMaxFailures(failed: number, lines: number, maxFailures: MaxFailures | undefined): boolean {
  if (!maxFailures || failed === 0) return false;
  const { limit, isPercentage } = maxFailures;
  if (!isPercentage) return failed > limit;
  return lines >= MIN_LINES_FOR_PERCENTAGE && (failed / lines) * 100 > limit;
}
