/** What became of a line. */
export type LineStatus = 'done' | 'failed' | 'unknown' | 'unsent';

/** The counts of a batch. Every line of the input that is not blank is in one of them. */
export interface BatchCounts {
  readonly byStatus: Record<LineStatus, number>;
  /** Lines whose outcome is not known. */
  readonly unknownLines: number[];
  /** Bytes of the input that were read. */
  bytesRead: number;
  emptyLines: number;
  /** Lines that failed and were, or may have been, applied: only with the ids of this run is another try the same. */
  unresolvedLines: number;
  /** Attempts beyond the first. */
  retries: number;
}

/** Nothing counted yet. */
export function createBatchCounts(): BatchCounts {
  return {
    byStatus: { done: 0, failed: 0, unknown: 0, unsent: 0 },
    unknownLines: [],
    bytesRead: 0,
    emptyLines: 0,
    unresolvedLines: 0,
    retries: 0,
  };
}

/** Counts a line. */
export function countLine(counts: BatchCounts, line: number, status: LineStatus): void {
  counts.byStatus[status] += 1;
  if (status === 'unknown') counts.unknownLines.push(line);
}

/** All lines that were counted. */
export function totalLines({ byStatus }: BatchCounts): number {
  return byStatus.done + byStatus.failed + byStatus.unknown + byStatus.unsent;
}
