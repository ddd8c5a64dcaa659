import { Buffer } from 'node:buffer';
import { type FileHandle, open, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Failure } from '../../errors.ts';
import { fileFailure, isNotFoundError } from '../../files/file-errors.ts';
import { acquireLock, type LockRuntime } from '../../files/file-lock.ts';
import { makeDirectory } from '../../files/make-directory.ts';
import { syncDirectory } from '../../files/rename-durably.ts';
import { completeLength, parseJobRecords, type TrainingJobRecord } from './job-records.ts';

/** A ledger while nobody else can write to it. */
export interface OpenJobHistory {
  readonly records: readonly TrainingJobRecord[];
  /** Adds a line, once; it lasts when this returns, even if the power fails. Where that fails the ledger is as it was. */
  readonly appendLine: (line: string) => Promise<void>;
}

// Who holds the lock writes one line; a disk may be slow, and many processes may wait.
const LOCK_TIMEOUT_MS = 30_000;

/** The ledger of training jobs in a data folder. */
export function jobHistoryFile(directory: string): string {
  return join(directory, 'training-jobs.jsonl');
}

/** The jobs in a ledger, the oldest first; none where there is no ledger yet. Throws Failure `local` where it cannot be read. */
export async function readJobHistory(path: string): Promise<TrainingJobRecord[]> {
  const bytes = await readFile(path).catch((error: unknown) => {
    if (isNotFoundError(error)) return Buffer.alloc(0);
    throw jobHistoryFailure('read', path, error);
  });
  return parseJobRecords(bytes, path);
}

/**
 * Opens a ledger while no other process can, making it (0600, in a 0700 folder) where it is not there and mending a last
 * line that was torn. Throws Failure `local` where that is not possible.
 */
export async function withJobHistory<T>(
  path: string,
  context: LockRuntime,
  action: (ledger: OpenJobHistory) => Promise<T>,
): Promise<T> {
  await withWriteFailure(path, () => makeDirectory(dirname(path), 0o700));
  const unlock = await acquireLock(path, path, context, LOCK_TIMEOUT_MS);
  try {
    const file = await withWriteFailure(path, () => open(path, 'a+', 0o600));
    try {
      const bytes = await withWriteFailure(path, () => file.readFile());
      const records = parseJobRecords(bytes, path);
      return await action({
        records,
        appendLine: (line) => withWriteFailure(path, () => appendDurably(file, path, bytes, line)),
      });
    } finally {
      await file.close();
    }
  } finally {
    await unlock();
  }
}

async function appendDurably(file: FileHandle, path: string, before: Buffer, line: string): Promise<void> {
  const completeBytes = completeLength(before);
  await file.truncate(completeBytes);
  const hasOpenLine = completeBytes > 0 && before[completeBytes - 1] !== 0x0a;
  try {
    await file.appendFile(hasOpenLine ? `\n${line}` : line);
    await file.sync();
    if (before.length === 0) await syncDirectory(dirname(path));
  } catch (error) {
    await file.truncate(completeBytes).catch(() => {});
    throw error;
  }
}

async function withWriteFailure<T>(path: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw jobHistoryFailure('write', path, error);
  }
}

function jobHistoryFailure(how: string, path: string, error: unknown): Failure {
  return fileFailure(`${how} the ledger of training jobs, ${path}`, error, {
    hint: 'SVC_DATA_DIR names another folder for it',
    applied: 'no',
  });
}
