/** How far many bytes have come. */
export interface Transfer {
  readonly bytes: number;
  /** All of them, where it is known. */
  readonly total: number | undefined;
  /** Since the first of them. */
  readonly milliseconds: number;
}

/** `sending 1.2 GB of 4.0 GB, 210 MB/s, 14 s left`: how far it has come, how fast it goes, and how long it may last. */
export function transferText(what: string, { bytes, total, milliseconds }: Transfer): string {
  const rate = milliseconds > 0 ? (bytes / milliseconds) * 1000 : 0;
  const parts = [`${what} ${sizeText(bytes)}${total === undefined ? '' : ` of ${sizeText(total)}`}`];
  if (rate > 0) parts.push(`${sizeText(rate)}/s`);
  if (rate > 0 && total !== undefined) parts.push(`${timeText(Math.max(0, total - bytes) / rate)} left`);
  return parts.join(', ');
}

function sizeText(bytes: number): string {
  if (bytes >= 1e9) return `${(bytes / 1e9).toFixed(1)} GB`;
  if (bytes >= 1e6) return `${(bytes / 1e6).toFixed(0)} MB`;
  return `${Math.ceil(bytes / 1e3)} KB`;
}

function timeText(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  return seconds < 5400 ? `${Math.ceil(seconds / 60)} min` : `${Math.ceil(seconds / 3600)} h`;
}
