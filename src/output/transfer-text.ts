import { formatByteSize } from '../files/byte-size.ts';

export interface TransferProgress {
  readonly bytes: number;
  readonly total: number | undefined;
  readonly elapsedMs: number;
}

/** The state of a transfer: `sending 1.2 GiB of 4 GiB (30 %), 200 MiB/s, 15 s left`. */
export function formatTransfer(activity: string, { bytes, total, elapsedMs }: TransferProgress): string {
  const bytesPerSecond = elapsedMs > 0 ? (bytes / elapsedMs) * 1000 : 0;
  const ofTotal = total === undefined ? '' : ` of ${formatByteSize(total)} (${formatPercent(bytes, total)})`;
  const parts = [`${activity} ${formatByteSize(bytes)}${ofTotal}`];
  if (bytesPerSecond > 0) parts.push(`${formatByteSize(bytesPerSecond)}/s`);
  if (bytesPerSecond > 0 && total !== undefined)
    parts.push(`${formatSeconds(Math.max(0, total - bytes) / bytesPerSecond)} left`);
  return parts.join(', ');
}

export function pluralize(count: number, singular: string, plural = `${singular}s`): string {
  return count === 1 ? singular : plural;
}

/** The percentage of a total, rounded down: 100 % means complete. */
export function formatPercent(part: number, total: number): string {
  return `${total > 0 ? Math.min(100, Math.floor((part / total) * 100)) : 100} %`;
}

export function formatCount(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** A number for people: counts with every digit, others with six. */
export function formatNumber(value: number): string {
  return Number.isSafeInteger(value) ? formatCount(value) : `${Number(value.toPrecision(6))}`;
}

export function formatMilliseconds(milliseconds: number): string {
  return milliseconds < 1000 ? `${formatNumber(milliseconds)} ms` : `${formatNumber(milliseconds / 1000)} s`;
}

/** `10 to 19` or `11`: the whole numbers from the first one and below the second one. */
export function wholeRange(from: number, to: number, format = formatNumber): string {
  return to - from > 1 ? `${format(from)} to ${format(to - 1)}` : format(from);
}

/** A duration for people, rounded up: `14 s`, `3 min`, `2 h`. */
export function formatSeconds(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  return seconds < 5400 ? `${Math.ceil(seconds / 60)} min` : `${Math.ceil(seconds / 3600)} h`;
}
