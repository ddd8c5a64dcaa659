import { Buffer } from 'node:buffer';
import { join } from 'node:path';
import { dataDirectory } from '../config/environment.ts';
import type { Context } from '../context.ts';
import { withFileFailure } from '../files/file-errors.ts';
import type { LockRuntime } from '../files/file-lock.ts';
import { writeFileAtomically } from '../files/file-replacement.ts';
import {
  findJournalEnd,
  NOT_A_RECORD,
  openJournal,
  parseRecord,
  readJournal,
  withJournalLock,
} from '../files/journal.ts';
import { requireRegularFile } from '../files/trusted-file.ts';
import { firstStringMember, getMember, type JsonNode, rawText } from '../json/json-node.ts';
import { type JsonValue, writeJson } from '../json/write-json.ts';
import type { Runtime } from '../runtime.ts';

export function requestHistoryFile(runtime: Runtime): string {
  return join(dataDirectory(runtime), 'requests.jsonl');
}

export function promptHistoryFile(runtime: Runtime): string {
  return join(dataDirectory(runtime), 'prompts.jsonl');
}

/** Throws Failure `local_file` if the history cannot be a file, so that nothing is sent that would not be recorded. */
export async function checkHistoryFile(path: string): Promise<void> {
  await withFileFailure('write', path, () => requireRegularFile(path), { applied: 'no' });
}

/** Appends a record to a history, durably and without the secrets of the run. Throws Failure `local_file`. */
export async function appendToHistory(path: string, record: JsonValue, { runtime, report }: Context): Promise<void> {
  const file = { path, displayPath: path };
  await withJournalLock(path, runtime, async () => {
    const journal = await openJournal(file, await findJournalEnd(file));
    await journal.append(report.redactBody(writeJson(record))).finally(journal.close);
  });
}

/** The records, oldest first. Throws Failure `local_file`, and `safety_check` with the place of an invalid record. */
export async function readRequestHistory(path: string): Promise<JsonNode[]> {
  const records: JsonNode[] = [];
  const hint = 'fix that line, or move the file away to start a new history';
  await readJournal({ path, displayPath: path, hint }, (bytes) => {
    const record = parseRecord(bytes);
    if (!record) return NOT_A_RECORD;
    if (!getMember(record, 'time')) return 'it has no time';
    records.push(record);
    return undefined;
  });
  return records;
}

/** The newest records, from a UTC time on, up to a number of records and of bytes; without limits, none. */
export interface HistoryLimits {
  readonly since?: string | undefined;
  readonly maxRecords?: number | undefined;
  readonly maxBytes?: number | undefined;
}

/** Removes the records beyond the limits, or with `isDryRun` only counts them. Throws as readRequestHistory does. */
export async function pruneHistory(
  path: string,
  { since = '', maxRecords = Number.POSITIVE_INFINITY, maxBytes = Number.POSITIVE_INFINITY }: HistoryLimits,
  runtime: LockRuntime,
  isDryRun = false,
): Promise<{ records: number; bytes: number }> {
  const prune = async () => {
    const removed = { records: 0, bytes: 0 };
    const kept: string[] = [];
    let keptBytes = 0;
    let isFull = false;
    for (const record of (await readRequestHistory(path)).reverse()) {
      const line = rawText(record);
      const bytes = Buffer.byteLength(line) + 1;
      const isRecent = (firstStringMember(record, 'time') ?? '') >= since;
      isFull ||= isRecent && (kept.length >= maxRecords || keptBytes + bytes > maxBytes);
      if (isRecent && !isFull) {
        kept.push(`${line}\n`);
        keptBytes += bytes;
      } else {
        removed.records += 1;
        removed.bytes += bytes;
      }
    }
    if (removed.records > 0 && !isDryRun) await writeFileAtomically(path, path, kept.reverse().join(''), 0o600);
    return removed;
  };
  return isDryRun ? prune() : withJournalLock(path, runtime, prune);
}
