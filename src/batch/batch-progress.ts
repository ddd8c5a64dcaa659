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
}

/** The progress line of a batch; the time left is estimated from the bytes read. */
export function formatBatchProgress({ tally, totalBytes, currentLimit, elapsed }: BatchProgress): string {
  const { done, failed, unknown } = tally.byStatus;
  const seconds = Math.max(elapsed(), 1) / 1000;
  const parts = [
    `${done} done`,
    ...(failed + unknown > 0 ? [`${failed + unknown} failed`] : []),
    `${Math.round(totalLines(tally) / seconds)}/s`,
    ...(totalBytes && tally.bytesRead > 0
      ? [`${formatTimeLeft((totalBytes / tally.bytesRead - 1) * seconds)} left`]
      : []),
    `${currentLimit()} at once`,
  ];
  return parts.join(', ');
}

function formatTimeLeft(seconds: number): string {
  const totalSeconds = Math.ceil(seconds);
  const minutes = Math.floor(totalSeconds / 60);
  if (minutes >= 60) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return minutes > 0 ? `${minutes} min ${totalSeconds % 60} s` : `${totalSeconds} s`;
}
