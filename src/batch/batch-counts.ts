/** The outcome of a line. */
export type LineStatus = 'done' | 'failed' | 'unknown' | 'unsent';

/** The counts of a batch. Every input line that is not empty is in one of them. */
export interface BatchCounts {
  readonly byStatus: Record<LineStatus, number>;
  /** Lines with unknown outcome. */
  readonly unknownLines: number[];
  /** The number of them that `--resume` sends without `--retry-unknown`. */
  resendableLines: number;
  /** Lines that failed after they were applied, and that `--resume` sends again. */
  resendableFailures: number;
  /** Bytes of the input that were read. */
  bytesRead: number;
  /** Lines that were read and are not empty; of a shard, its own. */
  linesRead: number;
  emptyLines: number;
  /** Lines that this run sent. */
  sentLines: number;
  /** Lines that failed and were, or may have been, applied. */
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
    resendableFailures: 0,
    bytesRead: 0,
    linesRead: 0,
    emptyLines: 0,
    sentLines: 0,
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
