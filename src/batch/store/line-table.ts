import { type AppliedState, safetyFailure } from '../../errors.ts';

export interface IndexedResult {
  readonly fileIndex: number;
  /** Position and length of the result line in its file, in bytes. */
  readonly offset: number;
  readonly length: number;
  readonly exitCode: number;
  readonly applied: AppliedState;
  /** See LineKey; the table keeps up to 63. */
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

/** The largest number of a line: 2^40. */
export const MAX_LINE_NUMBER = 2 ** 40;

const MAX_REVISION = 63;
const RECORD_BYTES = 40;
const PAGE_LINES = 1024;
// 2 GB.
const MAX_PAGES = 50_000;
// Where the members of a record begin. No result is empty, so a length of 0 marks a line without one; the time of a `sending`
// record is stored as one more, and 0 is none.
const layout = { offset: 0, sentTime: 8, digest: 16, sentDigest: 24, length: 32, state: 36, fileIndex: 38 } as const;

export type LineTable = ReturnType<typeof createLineTable>;

/** What output and journal say about lines, in ascending order and 40 bytes per line: of a shard, from its first line on. */
export function createLineTable() {
  const { find, reserve, starts, lastLine } = createPages();
  const hasResult = (line: number): boolean => find(line).getUint32(positionOf(line) + layout.length) > 0;
  const isSent = (line: number): boolean => find(line).getFloat64(positionOf(line) + layout.sentTime) > 0;
  return {
    result: (line: number): IndexedResult | undefined =>
      hasResult(line) ? readResultRecord(find(line), positionOf(line)) : undefined,
    setResult: (line: number, result: IndexedResult | undefined): void => {
      if (result) writeResultRecord(reserve(line), positionOf(line), result);
      else if (hasResult(line)) find(line).setUint32(positionOf(line) + layout.length, 0);
    },
    /** The last journal record of a line, if it is `sending`. */
    sent: (line: number): SentLine | undefined => {
      if (!isSent(line)) return undefined;
      const [records, position] = [find(line), positionOf(line)];
      const timestampMs = records.getFloat64(position + layout.sentTime) - 1;
      return { digest: digestAt(records, position + layout.sentDigest), timestampMs };
    },
    setSent: (line: number, sent: SentLine | undefined): void => {
      if (!sent && !isSent(line)) return;
      const [records, position] = [reserve(line), positionOf(line)];
      records.setFloat64(position + layout.sentTime, sent ? sent.timestampMs + 1 : 0);
      if (sent) records.setBigUint64(position + layout.sentDigest, BigInt(`0x${sent.digest}`));
    },
    /** The digest of the last journal record of a line, also of one that is not `sending`. */
    recordedDigest: (line: number): string | undefined => {
      const [records, position] = [find(line), positionOf(line) + layout.sentDigest];
      return records.getBigUint64(position) === 0n ? undefined : digestAt(records, position);
    },
    /** The lines with a result or a `sending` record. */
    lines: function* (): Generator<number> {
      for (const start of starts())
        for (let line = start; line < start + PAGE_LINES; line += 1) if (hasResult(line) || isSent(line)) yield line;
    },
    lastLine,
  };
}

// By the number of its first line. The table of a shard has none for the lines before.
function createPages() {
  const pages = new Map<number, DataView>();
  const emptyPage = createPage();
  let page = emptyPage;
  let pageStart = -PAGE_LINES;
  let lastLine = 0;
  // Neighbors are mostly asked for one after the other.
  const find = (line: number): DataView => {
    const start = line - (line % PAGE_LINES);
    if (start === pageStart) return page;
    const found = pages.get(start);
    if (found) [page, pageStart] = [found, start];
    return found ?? emptyPage;
  };
  const reserve = (line: number): DataView => {
    lastLine = Math.max(lastLine, line);
    const found = find(line);
    if (found !== emptyPage) return found;
    if (pages.size >= MAX_PAGES)
      throw safetyFailure('limit', `there are results of more than ${MAX_PAGES * PAGE_LINES} lines`, {
        hint: 'name fewer files',
      });
    pages.set(line - (line % PAGE_LINES), createPage());
    return find(line);
  };
  const starts = (): number[] => [...pages.keys()].sort((one, other) => one - other);
  return { find, reserve, starts, lastLine: () => lastLine };
}

function createPage(): DataView {
  return new DataView(new ArrayBuffer(PAGE_LINES * RECORD_BYTES));
}

function positionOf(line: number): number {
  return (line % PAGE_LINES) * RECORD_BYTES;
}

function digestAt(records: DataView, position: number): string {
  return records.getBigUint64(position).toString(16).padStart(16, '0');
}

function readResultRecord(records: DataView, position: number): IndexedResult {
  const state = records.getUint16(position + layout.state);
  return {
    fileIndex: records.getUint16(position + layout.fileIndex),
    offset: records.getFloat64(position + layout.offset),
    length: records.getUint32(position + layout.length),
    exitCode: state & 0xff,
    applied: appliedStates[(state >> 8) & 3] ?? 'unknown',
    revision: state >> 10,
    digest: digestAt(records, position + layout.digest),
  };
}

function writeResultRecord(records: DataView, position: number, result: IndexedResult): void {
  const revision = Math.min(result.revision, MAX_REVISION);
  const state = (revision << 10) | (appliedStates.indexOf(result.applied) << 8) | (result.exitCode & 0xff);
  records.setFloat64(position + layout.offset, result.offset);
  records.setBigUint64(position + layout.digest, BigInt(`0x${result.digest}`));
  records.setUint32(position + layout.length, result.length);
  records.setUint16(position + layout.state, state);
  records.setUint16(position + layout.fileIndex, result.fileIndex);
}
