import { type Journal, type JournalEnd, type JournalFile, openJournal, readJournal } from '../files/journal.ts';
import { firstStringMember, type JsonNode, numberMember } from '../json/json-node.ts';
import { formatRunRecord, parseRunRecord, type RunRecord } from './batch-identity.ts';
import type { LineTable, SentLine } from './line-table.ts';

/** The table holds 41 bytes per line, up to the last. */
export const MAX_LINES = 50_000_000;

/** The journal of a batch: the output's name with `.journal`. */
export function batchJournalFile({ path, displayPath }: Pick<JournalFile, 'path' | 'displayPath'>): JournalFile {
  return {
    path: `${path}.journal`,
    displayPath: `${displayPath}.journal`,
    hint: 'restore the file from a copy; without the journal, lines without a result count as unknown',
  };
}

/** What the journal of earlier runs says, apart from its lines. */
export interface BatchJournalState {
  readonly runs: readonly RunRecord[];
  readonly end: JournalEnd;
}

/**
 * Reads the journal of a batch into a table; undefined if there is none. Throws Failure `guard` for a file that is not such a
 * journal, or that is damaged: the digests of input lines tell a record of another line.
 */
export async function readBatchJournal(file: JournalFile, table: LineTable): Promise<BatchJournalState | undefined> {
  const runs: RunRecord[] = [];
  const end = await readJournal(file, (record) => {
    const run = parseRunRecord(record);
    if (run) {
      const [first = run] = runs;
      runs.push(run);
      return run.run === first.run ? undefined : 'it belongs to another run';
    }
    return runs.length > 0 ? readLineRecord(record, table) : 'it is not the record of a batch';
  });
  return end && { runs, end };
}

function readLineRecord(record: JsonNode, table: LineTable): string | undefined {
  const [sending, withdrawn, timestampMs] = ['sending', 'withdrawn', 'at'].map((name) => numberMember(record, name));
  const line = sending ?? withdrawn ?? 0;
  const digest = firstStringMember(record, 'input') ?? '';
  if (!Number.isInteger(line) || line < 1 || line > MAX_LINES || !/^[0-9a-f]{16}$/.test(digest))
    return 'it is not the record of a line';
  const earlier = table.sent(line);
  if (earlier && earlier.digest !== digest) return `line ${line} was recorded with another input before`;
  if (sending !== undefined && timestampMs === undefined) return 'it has no time';
  if (withdrawn !== undefined && !earlier) return `line ${line} was not recorded before`;
  table.setSent(line, sending === undefined ? undefined : { digest, timestampMs: timestampMs ?? 0 });
  return undefined;
}

/** The journal of a running batch. Every function throws Failure `local`. */
export interface BatchJournal {
  /** Records that a line is about to be sent; durable when it returns. */
  readonly recordSending: (line: number, sent: SentLine) => Promise<void>;
  /** Records that nothing of the last `sending` was applied. */
  readonly recordWithdrawn: (line: number, digest: string) => Promise<void>;
  readonly close: Journal['close'];
}

/** Opens the journal of a batch after its complete records, and records the run. See openJournal. */
export async function openBatchJournal(
  file: JournalFile,
  run: RunRecord,
  earlier: BatchJournalState | undefined,
  beforeWrite: () => void,
): Promise<BatchJournal> {
  const { append, close } = await openJournal(file, earlier?.end.bytes ?? 0, beforeWrite);
  const text = formatRunRecord(run);
  if (!earlier?.runs.some((record) => formatRunRecord(record) === text)) await append(text);
  return {
    recordSending: (line, { digest, timestampMs }) =>
      append(`{"sending":${line},"input":"${digest}","at":${timestampMs}}`),
    recordWithdrawn: (line, digest) => append(`{"withdrawn":${line},"input":"${digest}"}`),
    close,
  };
}
