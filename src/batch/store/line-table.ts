import type { AppliedState } from '../../errors.ts';

export interface IndexedResult {
  readonly fileIndex: number;
  /** Position and length of the result line in its file, in bytes. */
  readonly offset: number;
  readonly length: number;
  readonly exitCode: number;
  readonly applied: AppliedState;
  /** See LineAttempt; the table keeps up to 63. */
  readonly revision: number;
  readonly digest: string;
}

/** A `sending` record: the line may have been sent. */
export interface SentLine {
  readonly digest: string;
  /** The time from which ids and times are made: milliseconds since 1970; 0 if the record was lost. */
  readonly timestampMs: number;
}

export const appliedStates: readonly AppliedState[] = ['no', 'yes', 'unknown'];

/** The table holds 40 bytes per line, up to the last. */
export const MAX_LINES = 50_000_000;

const MAX_REVISION = 63;
const RECORD_BYTES = 40;
// Where the members of a record begin. No result is empty, so a length of 0 marks a line without one; the time of a `sending`
// record is stored as one more, and 0 is none.
const layout = { offset: 0, sentTime: 8, digest: 16, sentDigest: 24, length: 32, state: 36, fileIndex: 38 } as const;

export type LineTable = ReturnType<typeof createLineTable>;

/** What output and journal say about lines, in ascending order and a few bytes per line: files have millions of them. */
export function createLineTable() {
  let records = new DataView(new ArrayBuffer(1024 * RECORD_BYTES));
  let lastLine = 0;
  // The record of line 0 is empty.
  const positionOf = (line: number): number => (line <= lastLine ? line * RECORD_BYTES : 0);
  const reserve = (line: number): number => {
    lastLine = Math.max(lastLine, line);
    const position = line * RECORD_BYTES;
    if (position < records.byteLength) return position;
    const larger = new Uint8Array(Math.min(Math.max(records.byteLength, position) * 2, (MAX_LINES + 1) * RECORD_BYTES));
    larger.set(new Uint8Array(records.buffer));
    records = new DataView(larger.buffer);
    return position;
  };
  const digestAt = (position: number): string => records.getBigUint64(position).toString(16).padStart(16, '0');
  const hasResult = (line: number): boolean => records.getUint32(positionOf(line) + layout.length) > 0;
  const isSent = (line: number): boolean => records.getFloat64(positionOf(line) + layout.sentTime) > 0;
  return {
    result: (line: number): IndexedResult | undefined => {
      const position = positionOf(line);
      const state = records.getUint16(position + layout.state);
      const applied = appliedStates[(state >> 8) & 3];
      if (!hasResult(line) || applied === undefined) return undefined;
      return {
        fileIndex: records.getUint16(position + layout.fileIndex),
        offset: records.getFloat64(position + layout.offset),
        length: records.getUint32(position + layout.length),
        exitCode: state & 0xff,
        applied,
        revision: state >> 10,
        digest: digestAt(position + layout.digest),
      };
    },
    setResult: (line: number, result: IndexedResult | undefined): void => {
      if (!result && !hasResult(line)) return;
      const position = reserve(line);
      records.setUint32(position + layout.length, result?.length ?? 0);
      if (!result) return;
      const { revision, applied, exitCode } = result;
      const state =
        (Math.min(revision, MAX_REVISION) << 10) | (appliedStates.indexOf(applied) << 8) | (exitCode & 0xff);
      records.setFloat64(position + layout.offset, result.offset);
      records.setUint16(position + layout.state, state);
      records.setUint16(position + layout.fileIndex, result.fileIndex);
      records.setBigUint64(position + layout.digest, BigInt(`0x${result.digest}`));
    },
    /** The last journal record of a line, if it is `sending`. */
    sent: (line: number): SentLine | undefined => {
      const position = positionOf(line);
      if (!isSent(line)) return undefined;
      return {
        digest: digestAt(position + layout.sentDigest),
        timestampMs: records.getFloat64(position + layout.sentTime) - 1,
      };
    },
    setSent: (line: number, sent: SentLine | undefined): void => {
      if (!sent && !isSent(line)) return;
      const position = reserve(line);
      records.setFloat64(position + layout.sentTime, sent ? sent.timestampMs + 1 : 0);
      if (sent) records.setBigUint64(position + layout.sentDigest, BigInt(`0x${sent.digest}`));
    },
    /** The digest of the last journal record of a line, also of one that is not `sending`. */
    recordedDigest: (line: number): string | undefined => {
      const position = positionOf(line) + layout.sentDigest;
      return records.getBigUint64(position) === 0n ? undefined : digestAt(position);
    },
    /** The lines with a result or a `sending` record. */
    lines: function* (): Generator<number> {
      for (let line = 1; line <= lastLine; line += 1) if (hasResult(line) || isSent(line)) yield line;
    },
    lastLine: () => lastLine,
  };
}
