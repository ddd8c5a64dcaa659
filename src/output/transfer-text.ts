/** How far many bytes have come. */
export interface TransferProgress {
  readonly bytes: number;
  /** All of them, where it is known. */
  readonly total: number | undefined;
  /** Since the first of them. */
  readonly elapsedMs: number;
}

/** `sending 1.2 GB of 4.0 GB, 210 MB/s, 14 s left`: how far it has come, how fast it goes, and how long it may last. */
export function formatTransfer(activity: string, { bytes, total, elapsedMs }: TransferProgress): string {
  const bytesPerSecond = elapsedMs > 0 ? (bytes / elapsedMs) * 1000 : 0;
  const parts = [
    `${activity} ${formatDecimalBytes(bytes)}${total === undefined ? '' : ` of ${formatDecimalBytes(total)}`}`,
  ];
  if (bytesPerSecond > 0) parts.push(`${formatDecimalBytes(bytesPerSecond)}/s`);
  if (bytesPerSecond > 0 && total !== undefined)
    parts.push(`${formatSeconds(Math.max(0, total - bytes) / bytesPerSecond)} left`);
  return parts.join(', ');
}

function formatDecimalBytes(bytes: number): string {
  if (bytes >= 1e9) return `${(bytes / 1e9).toFixed(1)} GB`;
  if (bytes >= 1e6) return `${(bytes / 1e6).toFixed(0)} MB`;
  return `${Math.ceil(bytes / 1e3)} KB`;
}

function formatSeconds(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  return seconds < 5400 ? `${Math.ceil(seconds / 60)} min` : `${Math.ceil(seconds / 3600)} h`;
}
