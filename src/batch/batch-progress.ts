import { type BatchCounts, totalLines } from './batch-counts.ts';

/** How a batch goes, for a terminal: what is done, how fast, how much is left. */
export interface BatchProgress {
  readonly tally: BatchCounts;
  /** Bytes of the input; unknown for a pipe. */
  readonly totalBytes: number | undefined;
  /** How many requests may be under way now. */
  readonly currentLimit: () => number;
  /** Milliseconds since it began. */
  readonly elapsed: () => number;
}

/** A line about how a batch goes. What is left is judged by the bytes that were read. */
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
