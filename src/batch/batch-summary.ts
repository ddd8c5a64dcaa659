import { Failure, type FailureFacts, InterruptedError, toFailure } from '../errors.ts';
import { formatLineRanges } from '../files/split-lines.ts';
import { pluralize } from '../output/transfer-text.ts';
import { ClosedPipeError } from '../output/writer.ts';
import { type BatchCounts, totalLines } from '../reports/batch/batch-statistics.ts';
import { causeLines, statisticsLines } from '../reports/batch/report-text.ts';
import type { BatchEnd } from './send/run-lines.ts';
import { FAILED_APPLIED_HINT } from './store/result-line.ts';

/** Reports how a batch ended. Throws the Failure of the batch as a whole. */
export async function reportBatch(end: BatchEnd): Promise<void> {
  const { tally, inputError, storeError, job } = end;
  const { report } = job.context;
  const { isResumable } = job.store;
  await job.checks.warnings.finish();
  const summary = formatBatchSummary(tally, end.elapsedMs);
  const reportFailure = await job.record.save(end.stopReason).then(() => undefined, toFailure);
  for (const text of causeLines(tally)) await report.error(text);
  for (const text of statisticsLines(tally)) await report.note(text);
  const skipped = job.scheduler.skippedRetries();
  if (skipped > 0)
    await report.note(
      `${skipped} ${pluralize(skipped, 'failure was', 'failures were')} not retried, because the service failed every recent request`,
    );
  if (storeError ?? inputError) {
    await report.note(summary);
    throw storeError === undefined ? inputError : lostResultsFailure(storeError, tally, isResumable);
  }
  const failure = batchFailure(end, summary);
  for (const { text, remedy } of job.scheduler.missedByLimits()) if (!failure || !remedy) await report.warn(text, true);
  if (failure && reportFailure) await report.warn(reportFailure.message);
  if (failure) throw failure;
  await report.note(summary);
  if (reportFailure) throw reportFailure;
}

export function formatBatchSummary(tally: BatchCounts, durationMs: number): string {
  const { done, failed, unknown, unsent } = tally.byStatus;
  const seconds = durationMs / 1000;
  const sections = [
    `${done} done`,
    `${failed} failed`,
    `${unknown} unknown`,
    `${unsent} not sent`,
    ...(tally.emptyLines > 0 ? [`${tally.emptyLines} empty`] : []),
    ...(tally.retries > 0 ? [`${tally.retries} ${pluralize(tally.retries, 'retry', 'retries')}`] : []),
  ];
  const rate = Math.round(tally.sentLines / Math.max(seconds, 0.001));
  const time = seconds < 0.1 ? '' : `${seconds.toFixed(1)} s, `;
  const pace = tally.sentLines > 0 ? ` (${time}${rate}/s)` : '';
  const lines = totalLines(tally);
  return `${lines} ${pluralize(lines, 'line')}: ${sections.join(', ')}${pace}`;
}

function batchFailure(end: BatchEnd, summary: string): Failure | undefined {
  const { tally, stopReason, abortReason } = end;
  const { failed, unknown, unsent } = tally.byStatus;
  const interruption = abortReason instanceof InterruptedError ? abortReason : undefined;
  if (!interruption && failed + unknown + unsent === 0) return undefined;
  const isKnown = stopReason === undefined || stopReason === interruption?.message;
  const unknownLines = `lines that may have been applied: ${formatLineRanges(tally.unknownLines)}`;
  const message = `${interruption ? `${interruption.message}; ` : ''}${summary}${isKnown ? '' : `; ${stopReason}`}`;
  // Of a batch that a limit stopped because nothing could be counted.
  const { remedy } = end.job.scheduler.missedByLimits().find((missed) => missed.remedy) ?? {};
  const hint = (unknown > 0 ? `${unknownLines}; ` : '') + nextStepHint(end, remedy ?? tally.hints.credentials);
  const cause = remedy && !interruption ? ('limit' as const) : undefined;
  const facts = { ...batchFacts(tally), hint, cause, stopped: stopReason };
  return new Failure(interruption?.code ?? (remedy ? 'safety_check' : 'partly_failed'), message, facts);
}

function nextStepHint({ tally, stopReason, job }: BatchEnd, remedy: string | undefined): string {
  if (remedy) return `${remedy}; then ${job.store.isResumable ? 'continue with --resume' : 'run it again'}`;
  const { failed, unknown, unsent } = tally.byStatus;
  const { resendableFailures, unresolvedLines } = tally;
  if (tally.hints.body && tally.invalidLines === totalLines(tally)) return tally.hints.body;
  if (!job.store.isResumable) return 'write the results to a file with -o, so that the batch can be resumed';
  if (unknown > 0) return `--resume${tally.resendableLines === unknown ? '' : ' --retry-unknown'} sends them again`;
  if (tally.invalidLines > 0)
    return 'correct the invalid lines (--dry-run lists them), then run it again with --resume --accept-changes';
  // A pipe that was stopped is not read to its end.
  const isReadWhole = stopReason === undefined || job.input.totalBytes !== undefined;
  if (isReadWhole && resendableFailures === 0 && unsent === 0 && failed === unresolvedLines) return FAILED_APPLIED_HINT;
  const limit = job.scheduler.hasReachedLimit() ? '; the limit counts from 0 again' : '';
  return `--resume sends lines without a result, and failed lines that were not applied${limit}`;
}

/** The failure of a batch whose results could not be written: counts sent requests and lost responses. */
export function lostResultsFailure(error: unknown, tally: BatchCounts, isResumable: boolean): Failure {
  const closed = { hint: 'write the results to a file with -o' };
  const cause =
    error instanceof ClosedPipeError
      ? new Failure('local_file', 'cannot write stdout: its reader closed it', closed)
      : toFailure(error);
  if (cause.code !== 'local_file') return cause;
  const { lostResults, sentLines } = tally;
  const counts =
    sentLines === 0
      ? 'nothing was sent'
      : `${sentLines} ${pluralize(sentLines, 'line was', 'lines were')} sent, and ${lostResults} ${pluralize(lostResults, 'result was', 'results were')} lost`;
  return new Failure('local_file', `${cause.message}; ${counts}`, {
    ...cause.facts,
    ...(isResumable ? { hint: 'fix the cause, then continue with --resume' } : {}),
    ...batchFacts(tally),
  });
}

function batchFacts({ byStatus: { unknown, done }, attempts }: BatchCounts): FailureFacts {
  return { applied: unknown > 0 ? 'unknown' : done > 0 ? 'yes' : 'no', isBatch: true, attempts };
}
