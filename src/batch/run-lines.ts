import { InterruptedError, toFailure } from '../errors.ts';
import { createHeapLimit } from '../train/stream/small-heap.ts';
import { countLine } from './batch-counts.ts';
import type { BatchInput } from './batch-input.ts';
import type { BatchJob } from './batch-job.ts';
import type { BatchOptions } from './batch-options.ts';
import { formatBatchProgress } from './batch-progress.ts';
import { type BatchRecord, createBatchRecord } from './batch-record.ts';
import { batchFailure, formatBatchSummary, lostResultsFailure } from './batch-summary.ts';
import { createConcurrencyLimit } from './concurrency-limit.ts';
import type { LineOutput, LineProgress, LineRevision } from './line-result.ts';
import { createPermitHold } from './rate-limiter.ts';
import { causeLines, statisticsLines } from './report-text.ts';
import type { ResultSlot } from './result-order.ts';
import { runLine } from './run-line.ts';
import { isInShard } from './shard.ts';
import { type InputLine, isEmptyLine } from './split-lines.ts';
import { createStopPolicy, type StopPolicy } from './stop-policy.ts';

// Lines that are being prepared, wait for a retry or for their slot, besides those in flight.
const LINES_PER_REQUEST = 4;
const ORDERED_LINES_PER_REQUEST = 16;

// The lines between two looks at the size of the heap leave 1 MB of garbage.
const LINES_PER_HEAP_CHECK = 16;

/** A batch that is running. */
interface BatchRun {
  readonly job: BatchJob;
  readonly record: BatchRecord;
  readonly stopPolicy: StopPolicy;
  /** Revised results that are being written. */
  readonly revisions: Promise<void>[];
  /** The first error of writing a result. */
  storeError: unknown;
  isFinished: boolean;
}

/** Runs all lines of an input. Throws the Failure of the batch as a whole, after every result is recorded. */
export async function runLines(input: BatchInput, options: BatchOptions, job: BatchJob): Promise<void> {
  const { runtime, startSpinner } = job.context;
  const startedAt = runtime.elapsed();
  const elapsed = (): number => runtime.elapsed() - startedAt;
  const record = createBatchRecord(job.junit);
  const stopPolicy = createStopPolicy(options, () => {
    job.stopSignal.abort(new InterruptedError('SIGINT'));
    // The rest of a file is counted; a pipe may never end.
    if (input.totalBytes === undefined) input.stop();
  });
  const run: BatchRun = { job, record, stopPolicy, revisions: [], storeError: undefined, isFinished: false };
  const { currentLimit } = job.rateLimiter;
  const progress = {
    tally: record.tally,
    totalBytes: input.totalBytes,
    currentLimit,
    elapsed,
    stopReason: stopPolicy.stopReason,
  };
  const endSpinner = startSpinner(() => formatBatchProgress(progress));
  const interruption = stopOnSignals(run);
  const inputError = await sendLines(input, options, run).then(() => undefined, toFailure);
  await job.finishConnections();
  run.isFinished = true;
  await Promise.all(run.revisions);
  endSpinner();
  await reportRun(run, inputError, interruption(), elapsed);
}

// Returns the signal that ended the batch in order, if one did.
function stopOnSignals({ job: { context }, stopPolicy }: BatchRun): () => InterruptedError | undefined {
  const { signal } = context;
  const onAbort = (): void => stopPolicy.stop(String(signal.reason.message));
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  let interruption: InterruptedError | undefined;
  context.onInterrupt((reason) => {
    interruption = reason;
    stopPolicy.stop(reason.message);
  });
  context.onProgressFacts(() => ({ applied: 'unknown', hint: 'continue the run with --resume' }));
  return () => interruption;
}

// Throws the error of reading the input when the lines before it are done.
async function sendLines(input: BatchInput, options: BatchOptions, run: BatchRun): Promise<void> {
  const { tally } = run.record;
  const { rateLimits, isOrdered, shard } = options;
  const linesPerRequest = isOrdered ? ORDERED_LINES_PER_REQUEST : LINES_PER_REQUEST;
  const concurrencyLimit = createConcurrencyLimit(rateLimits.concurrency * linesPerRequest);
  const limitHeap = createHeapLimit();
  try {
    for await (const line of input.lines) {
      tally.bytesRead = line.offset + line.length;
      if (!isInShard(line.number, shard)) continue;
      if (isEmptyLine(line)) {
        tally.emptyLines += 1;
        continue;
      }
      tally.linesRead += 1;
      if (tally.linesRead % LINES_PER_HEAP_CHECK === 0) limitHeap();
      await concurrencyLimit.start(() => processLine(line, run));
    }
  } finally {
    await concurrencyLimit.waitForAll();
  }
}

async function processLine(line: InputLine, run: BatchRun): Promise<void> {
  const { job, record, stopPolicy } = run;
  const slot = job.openSlot();
  const progress: LineProgress = { mayBeApplied: true, isSent: false, hasResponse: false };
  const put: ResultSlot['put'] = (result) =>
    slot.put(result).catch((error: unknown) => {
      if (progress.hasResponse) record.tally.lostResults += 1;
      throw error;
    });
  const permitHold = createPermitHold();
  let hasOutcome = false;
  const onOutcome: LineOutput['onOutcome'] = (outcome) => {
    if (hasOutcome) return;
    hasOutcome = true;
    stopPolicy.addOutcome(outcome);
    permitHold.end();
  };
  const revise: LineOutput['revise'] = (revision) => reviseLine(revision, run);
  try {
    const result = await runLine(line, { put, progress, revise, onOutcome, permitHold }, job);
    record.add(line, result);
    onOutcome(result);
    const outageReason = job.outage.stopReason();
    if (outageReason !== undefined) stopPolicy.stop(outageReason);
  } catch (error) {
    // Its result is not recorded; if it may have been applied, it counts as unknown with --resume.
    countLine(record.tally, line.number, progress.mayBeApplied ? 'unknown' : 'unsent');
    if (progress.isSent) record.tally.sentLines += 1;
    run.storeError ??= error;
    stopPolicy.stop('the results cannot be written');
    permitHold.end();
    // With --ordered, later results wait for this one.
    await slot.put(undefined);
  }
}

function reviseLine(revision: LineRevision, run: BatchRun): void {
  if (run.isFinished) return;
  const { line, failure, write } = revision;
  run.record.revise(revision);
  run.stopPolicy.reviseOutcome({ failure, status: 'unknown' });
  const warned = run.job.responseWarnings.add(line, [failure.facts.summary ?? failure.message]);
  run.revisions.push(
    Promise.all([write(), warned]).then(
      () => {},
      (error: unknown) => {
        run.storeError ??= error;
      },
    ),
  );
}

// Throws the Failure of the batch as a whole.
async function reportRun(
  run: BatchRun,
  inputError: unknown,
  interruption: InterruptedError | undefined,
  elapsed: () => number,
): Promise<void> {
  const { job, record } = run;
  const { tally, statistics } = record;
  const { report, signal } = job.context;
  await job.customIds.finish();
  await job.responseWarnings.finish();
  const stopReason = run.stopPolicy.stopReason();
  const openLines = tally.byStatus.unknown + tally.byStatus.unsent + tally.resendableFailures;
  const isComplete = stopReason === undefined && inputError === undefined && openLines === 0;
  const onLostResults = (count: number): void => {
    tally.lostResults += count;
    tally.byStatus.unknown += tally.byStatus.done;
    tally.byStatus.done = 0;
  };
  await job.resultStore.finish(isComplete, onLostResults).catch((error: unknown) => {
    run.storeError ??= error;
  });
  const summary = formatBatchSummary(tally, elapsed());
  const junitFailure = await job.junit?.save().then(() => undefined, toFailure);
  for (const text of causeLines(statistics)) await report.error(text);
  for (const text of statisticsLines(statistics)) await report.note(text);
  if (run.storeError ?? inputError) {
    await report.note(summary);
    throw run.storeError === undefined
      ? inputError
      : lostResultsFailure(run.storeError, tally, job.resultStore.isResumable);
  }
  const failure = batchFailure({
    tally,
    summary,
    stopReason,
    abortReason: signal.reason ?? interruption,
    isResumable: job.resultStore.isResumable,
  });
  if (failure && junitFailure) await report.warn(junitFailure.message);
  if (failure) throw failure;
  await report.note(summary);
  if (junitFailure) throw junitFailure;
}
