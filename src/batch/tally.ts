/** What became of a line. */
export type Verdict = 'done' | 'failed' | 'unknown' | 'unsent';

/** The counts of a batch. Every line of the input that is not blank is in one of them. */
export interface Tally {
  readonly counts: Record<Verdict, number>;
  /** Lines whose outcome is not known. */
  readonly unknown: number[];
  /** Bytes of the input that were read. */
  bytes: number;
  blank: number;
  /** Lines that failed and were, or may have been, applied: only with the ids of this run is another try the same. */
  open: number;
  /** Attempts beyond the first. */
  repeats: number;
}

/** Nothing counted yet. */
export function emptyTally(): Tally {
  return {
    counts: { done: 0, failed: 0, unknown: 0, unsent: 0 },
    unknown: [],
    bytes: 0,
    blank: 0,
    open: 0,
    repeats: 0,
  };
}

/** Counts a line. */
export function count(tally: Tally, line: number, verdict: Verdict): void {
  tally.counts[verdict] += 1;
  if (verdict === 'unknown') tally.unknown.push(line);
}

/** All lines that were counted. */
export function linesIn({ counts }: Tally): number {
  return counts.done + counts.failed + counts.unknown + counts.unsent;
}
