import { pluralize } from '../../json/pluralize.ts';
import { formatCount, formatPercent, formatSeconds } from '../../output/transfer-text.ts';
import { type BatchCounts, totalLines } from '../../reports/batch/batch-statistics.ts';
import type { Scheduler } from './scheduler.ts';

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
