import { formatCount, formatPercent, formatSeconds, pluralize } from '../output/transfer-text.ts';

/** The outcome of a line. */
export type LineStatus = 'done' | 'failed' | 'unknown' | 'unsent';

/** The counts of a batch. Every input line that is not empty is in one of them. */
export interface BatchCounts {
  readonly byStatus: Record<LineStatus, number>;
  /** Lines with unknown outcome. */
  readonly unknownLines: number[];
  /** How many of them `--resume` sends without `--retry-unknown`. */
  resendableLines: number;
  /** Bytes of the input that were read. */
  bytesRead: number;
  /** Lines that were read and are not empty; of a shard, its own. */
  linesRead: number;
  emptyLines: number;
  /** Lines that failed and were, or may have been, applied: only under the ids of this run is a retry the same request. */
  unresolvedLines: number;
  /** Results that could not be written. */
  lostResults: number;
  /** Attempts after the first. */
  retries: number;
}

/** Counts of zero. */
export function createBatchCounts(): BatchCounts {
  return {
    byStatus: { done: 0, failed: 0, unknown: 0, unsent: 0 },
    unknownLines: [],
    resendableLines: 0,
    bytesRead: 0,
    linesRead: 0,
    emptyLines: 0,
    unresolvedLines: 0,
    lostResults: 0,
    retries: 0,
  };
}

/** Counts a line. */
export function countLine(counts: BatchCounts, line: number, status: LineStatus): void {
  counts.byStatus[status] += 1;
  if (status === 'unknown') counts.unknownLines.push(line);
}

/** The number of counted lines. */
export function totalLines({ byStatus }: BatchCounts): number {
  return byStatus.done + byStatus.failed + byStatus.unknown + byStatus.unsent;
}

/** The state of a running batch. */
export interface BatchProgress {
  readonly tally: BatchCounts;
  /** Size of the input; unknown for a pipe. */
  readonly totalBytes: number | undefined;
  /** Requests that may be in flight now. */
  readonly currentLimit: () => number;
  /** Milliseconds since the start. */
  readonly elapsed: () => number;
}

/** The progress line of a batch. The total and the time left are estimated until the input is read to its end. */
export function formatBatchProgress({ tally, totalBytes, currentLimit, elapsed }: BatchProgress): string {
  const { done, failed, unknown } = tally.byStatus;
  const lines = totalLines(tally);
  const linesPerSecond = lines / (Math.max(elapsed(), 1) / 1000);
  const total = estimateTotal(tally, totalBytes);
  const parts = [
    total
      ? `${formatCount(lines)} of ${total.text} ${pluralize(total.count, 'line')} (${formatPercent(lines, total.count)})`
      : `${formatCount(lines)} ${pluralize(lines, 'line')}`,
    ...(failed + unknown > 0 ? [`${formatCount(failed + unknown)} failed`] : []),
    `${Math.round(linesPerSecond)}/s`,
    ...(total && done > 0 ? [`${formatSeconds((total.count - lines) / linesPerSecond)} left`] : []),
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
