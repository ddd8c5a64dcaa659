import { Buffer } from 'node:buffer';
import { constants, createReadStream, writeSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { safetyFailure } from '../errors.ts';
import { LINE_FEED } from '../json/json-bytes.ts';
import { type JsonNode, kindOf } from '../json/json-node.ts';
import { tryParseJson } from '../json/parse-json.ts';
import { errorCode, fileFailure, isNotFoundError, undefinedIfNotFound, withFileFailure } from './file-errors.ts';
import { acquireLock, type LockRuntime } from './file-lock.ts';
import { makeDirectory, syncDirectory } from './file-replacement.ts';
import { splitLines } from './split-lines.ts';
import { requireRegularFile } from './trusted-file.ts';

/** A writer for concurrent callers, whose bytes are written together, one write at a time; each promise settles with its write. */
export function coalesceWrites(write: (bytes: Uint8Array) => Promise<void>): (bytes: Uint8Array) => Promise<void> {
  let queued: Uint8Array[] = [];
  let next: Promise<void> | undefined;
  let running: Promise<void> = Promise.resolve();
  return (bytes) => {
    queued.push(bytes);
    next ??= Promise.all([running, new Promise((resolve) => setImmediate(resolve))]).then(() => {
      const [first, ...others] = queued;
      const batch = first && others.length === 0 ? first : Buffer.concat(queued);
      queued = [];
      next = undefined;
      const done = write(batch);
      running = done.catch(() => {});
      return done;
    });
    return next;
  };
}

// With mode 0600 whatever the umask, and also if it was wider. A symlink could lead the records to a file of another user.
async function openPrivateFile(path: string): Promise<FileHandle> {
  await requireRegularFile(path);
  const { O_RDWR, O_APPEND, O_CREAT, O_NOFOLLOW } = constants;
  const file = await open(path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600).catch((error: unknown) => {
    throw errorCode(error) === 'ELOOP' ? new Error('it is a symlink; replace it with a file') : error;
  });
  await file.chmod(0o600).catch(() => {});
  return file;
}

/** An append-only file of what was sent: one JSON object per line. */
export interface JournalFile {
  readonly path: string;
  readonly displayPath: string;
  readonly hint: string;
}

export interface JournalEnd {
  readonly bytes: number;
  readonly lines: number;
}

export const JOURNAL_START: JournalEnd = { bytes: 0, lines: 0 };

const MAX_RECORD_BYTES = 256 * 1024 * 1024;

/**
 * Calls `onRecord` with each record after `start`, and returns their end; undefined without a file. A torn line, the last one
 * without a line feed, never happened: nothing was sent before its record was durable. Throws Failure `safety_check` with the
 * problem that it returns.
 */
export async function readJournal(
  { path, displayPath, hint }: JournalFile,
  onRecord: (record: Buffer) => string | undefined,
  start = JOURNAL_START,
): Promise<JournalEnd | undefined> {
  let end = start;
  try {
    await requireRegularFile(path);
    const stream = createReadStream(path, { start: start.bytes });
    for await (const { bytes, length, isTorn } of splitLines(stream, MAX_RECORD_BYTES)) {
      const lines = end.lines + 1;
      // A record that was cut has nothing after its end: another byte is a line feed that was changed.
      if (isTorn && !(bytes && parseRecord(bytes.subarray(0, -1)))) break;
      const problem = bytes && !isTorn ? onRecord(bytes) : NOT_A_RECORD;
      if (problem !== undefined)
        throw safetyFailure('unsafe_file', `${displayPath}:${lines} is not a valid record: ${problem}`, {
          hint,
          applied: 'no',
        });
      end = { bytes: end.bytes + length, lines };
    }
  } catch (error) {
    if (isNotFoundError(error)) return undefined;
    throw fileFailure('read', displayPath, error);
  }
  return end;
}

export const NOT_A_RECORD = 'it is not a JSON object on one line';

export function parseRecord(bytes: Buffer): JsonNode | undefined {
  const record = tryParseJson(bytes);
  return record && kindOf(record) === 'object' ? record : undefined;
}

/**
 * Opens or creates (0600) a journal with records up to `validBytes`, for appending; the caller holds its lock. Nothing is
 * written if `beforeWrite` throws. Every function throws Failure `local_file`.
 */
export async function openJournal(
  { path, displayPath }: Omit<JournalFile, 'hint'>,
  validBytes: number,
  beforeWrite: () => void = () => {},
) {
  const write = <T>(action: () => Promise<T>): Promise<T> => withFileFailure('write', displayPath, action);
  const file = await write(() => openPrivateFile(path));
  // What is not durable is not sent.
  const append = await write(() => openAppender(file, path, validBytes, beforeWrite, () => file.datasync()));
  return {
    /** Appends records, durably when it returns. Records of concurrent calls share one write. */
    append: (...records: readonly string[]): Promise<void> =>
      write(() => append(Buffer.from(records.map((record) => `${record}\n`).join('')))),
    close: (): Promise<void> => write(() => file.close()),
  };
}

/**
 * Cuts a file after its first `validBytes` bytes, and returns a function that appends bytes; those of concurrent calls share
 * one write. What a failed write leaves is cut off: a full disk may accept a part of the bytes. Throws system errors.
 */
export async function openAppender(
  file: FileHandle,
  path: string,
  validBytes: number,
  beforeWrite: () => void = () => {},
  afterWrite: () => Promise<void> = async () => {},
): Promise<(bytes: Uint8Array) => Promise<void>> {
  await file.truncate(validBytes);
  if (validBytes === 0) await syncDirectory(dirname(path));
  let size = validBytes;
  let damage: unknown;
  return coalesceWrites(async (bytes) => {
    beforeWrite();
    // Nothing can follow a part of a record.
    if (damage !== undefined) throw damage;
    try {
      // Faster than a write in the background.
      for (let at = 0; at < bytes.length; ) at += writeSync(file.fd, bytes, at);
      await afterWrite();
      size += bytes.length;
    } catch (error) {
      await file.truncate(size).catch(() => {
        damage = error;
      });
      throw error;
    }
  });
}

const LOCK_TIMEOUT_MS = 30_000;

/** Calls `action` with the lock of a journal, which it waits for, and creates its directory (0700). Throws Failure `local_file`. */
export async function withJournalLock<T>(path: string, runtime: LockRuntime, action: () => Promise<T>): Promise<T> {
  await withFileFailure('write', path, () => makeDirectory(dirname(path), 0o700));
  const unlock = await acquireLock(path, path, runtime, LOCK_TIMEOUT_MS);
  return action().finally(unlock);
}

const TAIL_BYTES = 64 * 1024;

/** The end of the last complete record, in bytes, without a reading of the others; 0 without a file. Throws Failure `local_file`. */
export async function findJournalEnd({ path, displayPath }: Omit<JournalFile, 'hint'>): Promise<number> {
  return withFileFailure('read', displayPath, async () => {
    await requireRegularFile(path);
    const file = await open(path).catch(undefinedIfNotFound);
    if (!file) return 0;
    try {
      const tail = Buffer.alloc(TAIL_BYTES);
      for (let { size: end } = await file.stat(); end > 0; ) {
        const start = Math.max(0, end - TAIL_BYTES);
        const { bytesRead } = await file.read(tail, 0, end - start, start);
        const at = tail.subarray(0, bytesRead).lastIndexOf(LINE_FEED);
        if (at !== -1) return start + at + 1;
        end = start;
      }
      return 0;
    } finally {
      await file.close();
    }
  });
}
