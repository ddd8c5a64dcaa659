import { linesIn, type Tally } from '../../batch/tally.ts';

/** How a batch goes, for a terminal: what is done, how fast, how much is left. */
export interface Watched {
  readonly tally: Tally;
  /** Bytes of the input; unknown for a pipe. */
  readonly size: number | undefined;
  /** How many requests may be under way now. */
  readonly allowed: () => number;
  /** Milliseconds since it began. */
  readonly elapsed: () => number;
}

/** A line about how a batch goes. What is left is judged by the bytes that were read. */
export function progressText({ tally, size, allowed, elapsed }: Watched): string {
  const { done, failed, unknown } = tally.counts;
  const seconds = Math.max(elapsed(), 1) / 1000;
  const parts = [
    `${done} done`,
    ...(failed + unknown > 0 ? [`${failed + unknown} failed`] : []),
    `${Math.round(linesIn(tally) / seconds)}/s`,
    ...(size && tally.bytes > 0 ? [`${leftText((size / tally.bytes - 1) * seconds)} left`] : []),
    `${allowed()} at once`,
  ];
  return parts.join(', ');
}

function leftText(seconds: number): string {
  const whole = Math.ceil(seconds);
  const minutes = Math.floor(whole / 60);
  if (minutes >= 60) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return minutes > 0 ? `${minutes} min ${whole % 60} s` : `${whole} s`;
}
