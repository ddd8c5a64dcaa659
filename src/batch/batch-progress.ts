import { pluralize } from '../json/pluralize.ts';
import { formatCount, formatPercent, formatSeconds } from '../output/transfer-text.ts';
import { type BatchCounts, totalLines } from './batch-counts.ts';

/** The state of a running batch. */
export interface BatchProgress {
  readonly tally: BatchCounts;
  /** Size of the input; unknown for a pipe. */
  readonly totalBytes: number | undefined;
  /** Requests that may be in flight now. */
  readonly currentLimit: () => number;
  /** Milliseconds since the start. */
  readonly elapsed: () => number;
  /** The reason why no more lines are sent; undefined while they are. */
  readonly stopReason: () => string | undefined;
}

/** The progress line of a batch. The total and the time left are estimated until the input is read to its end. */
export function formatBatchProgress({ tally, totalBytes, currentLimit, elapsed, stopReason }: BatchProgress): string {
  const { failed, unknown } = tally.byStatus;
  const lines = totalLines(tally);
  const reason = stopReason();
  if (reason) {
    const inFlight = tally.linesRead - lines;
    return `${reason}; waiting for ${formatCount(inFlight)} ${pluralize(inFlight, 'request')} in flight`;
  }
  // The results of earlier runs take no time.
  const linesPerSecond = tally.sentLines / (Math.max(elapsed(), 1) / 1000);
  const total = estimateTotal(tally, totalBytes);
  const parts = [
    total
      ? `${formatCount(lines)} of ${total.text} ${pluralize(total.count, 'line')} (${formatPercent(lines, total.count)})`
      : `${formatCount(lines)} ${pluralize(lines, 'line')}`,
    ...(failed + unknown > 0 ? [`${formatCount(failed + unknown)} failed`] : []),
    `${Math.round(linesPerSecond)}/s`,
    ...(total && linesPerSecond > 0 ? [`${formatSeconds((total.count - lines) / linesPerSecond)} left`] : []),
    `up to ${currentLimit()} in flight`,
  ];
  return parts.join(', ');
}

// The lines that are not read yet are about as long as the others.
function estimateTotal(
  { linesRead, bytesRead }: BatchCounts,
  totalBytes: number | undefined,
): { readonly count: number; readonly text: string } | undefined {
  if (totalBytes === undefined || bytesRead === 0) return undefined;
  const count = Math.max(linesRead, Math.round((linesRead * totalBytes) / bytesRead));
  return { count, text: `${bytesRead < totalBytes ? 'about ' : ''}${formatCount(count)}` };
}
