import { Buffer } from 'node:buffer';
import { type FileHandle, open, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Failure } from '../../errors.ts';
import { fileFailure, isNotFoundError } from '../../files/file-errors.ts';
import { acquireLock, type LockRuntime } from '../../files/file-lock.ts';
import { makeDirectory } from '../../files/make-directory.ts';
import { syncDirectory } from '../../files/rename-durably.ts';
import { requireRegularFile } from '../../files/trusted-file.ts';
import { LINE_FEED } from '../../json/json-bytes.ts';
import { completeLength, parseJobRecords, type TrainingJobRecord } from './job-records.ts';

/** The job history while no other process can write to it. */
export interface OpenJobHistory {
  readonly records: readonly TrainingJobRecord[];
  /** Appends a line durably, once. If that fails, the file is unchanged. */
  readonly appendLine: (line: string) => Promise<void>;
}

// The holder writes one line; a disk may be slow, and many processes may wait.
const LOCK_TIMEOUT_MS = 30_000;

/** The path of the job history in a data directory. */
export function jobHistoryFile(directory: string): string {
  return join(directory, 'training-jobs.jsonl');
}

/** The recorded jobs, oldest first; none if the file does not exist. Throws Failure `local` if it cannot be read. */
export async function readJobHistory(path: string): Promise<TrainingJobRecord[]> {
  const bytes = await requireRegularFile(path)
    .then(() => readFile(path))
    .catch((error: unknown) => {
      if (isNotFoundError(error)) return Buffer.alloc(0);
      throw jobHistoryFailure('read', path, error);
    });
  return parseJobRecords(bytes, path);
}

/**
 * Opens the history under its lock, creates it (0600, in a 0700 directory) if it does not exist, and repairs a last line
 * that is incomplete. Throws Failure `local` if that is not possible.
 */
export async function withJobHistory<T>(
  path: string,
  context: LockRuntime,
  action: (history: OpenJobHistory) => Promise<T>,
): Promise<T> {
  await withWriteFailure(path, async () => {
    await makeDirectory(dirname(path), 0o700);
    await requireRegularFile(path);
  });
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
  const hasOpenLine = completeBytes > 0 && before[completeBytes - 1] !== LINE_FEED;
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
  return fileFailure(`${how} the job history ${path}`, error, {
    hint: 'set SVC_DATA_DIR to another directory',
    applied: 'no',
  });
}
