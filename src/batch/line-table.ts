import type { AppliedState } from '../errors.ts';

export interface IndexedResult {
  /** The index of the file among the outputs that are read together. */
  readonly fileIndex: number;
  /** Position and length of the result line in its file, in bytes. */
  readonly offset: number;
  readonly length: number;
  readonly exitCode: number;
  readonly applied: AppliedState;
  /** See ResultEntry; the table keeps up to 63. */
  readonly revision: number;
  readonly digest: string;
}

/** A `sending` record: the line may have been sent. */
export interface SentLine {
  readonly digest: string;
  /** The time from which ids and times are made: milliseconds since 1970; 0 if the record was lost. */
  readonly timestampMs: number;
}

/** What output and journal say about lines, in 41 bytes per line: files have millions of them. */
export interface LineTable {
  readonly result: (line: number) => IndexedResult | undefined;
  readonly setResult: (line: number, result: IndexedResult | undefined) => void;
  /** The last journal record of a line, if it is `sending`. */
  readonly sent: (line: number) => SentLine | undefined;
  readonly setSent: (line: number, sent: SentLine | undefined) => void;
  /** The digest of the last journal record of a line, also of one that is not `sending`. */
  readonly recordedDigest: (line: number) => string | undefined;
  /** The lines with a result, in ascending order. */
  readonly lines: () => Generator<number>;
  /** The lines with a result or a `sending` record, in ascending order. */
  readonly knownLines: () => Generator<number>;
  readonly size: () => number;
  /** The largest line number with a result or a record; 0 without any. */
  readonly lastLine: () => number;
}

export const appliedStates: readonly AppliedState[] = ['no', 'yes', 'unknown'];

const MAX_REVISION = 63;

export function createLineTable(): LineTable {
  let offsets = new Float64Array(0);
  let lengths = new Uint32Array(0);
  let states = new Uint16Array(0);
  let fileIndexes = new Uint16Array(0);
  let digests = new BigUint64Array(0);
  let sentDigests = new BigUint64Array(0);
  let sentTimes = new Float64Array(0);
  let sentFlags = new Uint8Array(0);
  let highestLine = 0;
  let resultCount = 0;
  const reserve = (line: number): void => {
    highestLine = Math.max(highestLine, line);
    if (line < lengths.length) return;
    const capacity = Math.max(1024, lengths.length * 2, line + 1);
    offsets = copyInto(offsets, new Float64Array(capacity));
    lengths = copyInto(lengths, new Uint32Array(capacity));
    states = copyInto(states, new Uint16Array(capacity));
    fileIndexes = copyInto(fileIndexes, new Uint16Array(capacity));
    digests = copyInto(digests, new BigUint64Array(capacity));
    sentDigests = copyInto(sentDigests, new BigUint64Array(capacity));
    sentTimes = copyInto(sentTimes, new Float64Array(capacity));
    sentFlags = copyInto(sentFlags, new Uint8Array(capacity));
  };
  return {
    // No result is empty, so a length of 0 marks a line without one.
    result: (line) => {
      const length = lengths[line] ?? 0;
      const state = states[line] ?? 0;
      const applied = appliedStates[(state >> 8) & 3];
      if (length === 0 || applied === undefined) return undefined;
      return {
        fileIndex: fileIndexes[line] ?? 0,
        offset: offsets[line] ?? 0,
        length,
        exitCode: state & 0xff,
        applied,
        revision: state >> 10,
        digest: formatDigest(digests[line]),
      };
    },
    setResult: (line, result) => {
      if (!result && !lengths[line]) return;
      reserve(line);
      resultCount += (result ? 1 : 0) - (lengths[line] ? 1 : 0);
      lengths[line] = result?.length ?? 0;
      if (!result) return;
      offsets[line] = result.offset;
      const revision = Math.min(result.revision, MAX_REVISION);
      states[line] = (revision << 10) | (appliedStates.indexOf(result.applied) << 8) | (result.exitCode & 0xff);
      fileIndexes[line] = result.fileIndex;
      digests[line] = BigInt(`0x${result.digest}`);
    },
    sent: (line) =>
      sentFlags[line] ? { digest: formatDigest(sentDigests[line]), timestampMs: sentTimes[line] ?? 0 } : undefined,
    setSent: (line, sent) => {
      if (!sent && !sentFlags[line]) return;
      reserve(line);
      sentFlags[line] = sent ? 1 : 0;
      if (!sent) return;
      sentDigests[line] = BigInt(`0x${sent.digest}`);
      sentTimes[line] = sent.timestampMs;
    },
    recordedDigest: (line) => (sentDigests[line] ? formatDigest(sentDigests[line]) : undefined),
    lines: function* () {
      for (let line = 1; line <= highestLine; line += 1) if (lengths[line]) yield line;
    },
    knownLines: function* () {
      for (let line = 1; line <= highestLine; line += 1) if (lengths[line] || sentFlags[line]) yield line;
    },
    size: () => resultCount,
    lastLine: () => highestLine,
  };
}

function formatDigest(digest = 0n): string {
  return digest.toString(16).padStart(16, '0');
}

function copyInto<T extends { set: (values: T) => void }>(smaller: T, larger: T): T {
  larger.set(smaller);
  return larger;
}
