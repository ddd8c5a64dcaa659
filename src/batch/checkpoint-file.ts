import { Buffer } from 'node:buffer';
import { statSync, writeSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { coalesceWrites } from '../files/coalesced-writes.ts';
import { withFileFailure } from '../files/file-errors.ts';
import { CHECK_OFFSET_FROM_END, completionCheck, formatCheck } from './seal.ts';

/** A file that result lines are appended to. Every function throws Failure `local`. */
export interface CheckpointFile {
  readonly append: (entry: Uint8Array) => Promise<void>;
  /** The bytes of a result line at an offset. */
  readonly read: (offset: number, length: number) => Promise<Buffer>;
  /** Makes the appended lines survive a power failure. */
  readonly sync: () => Promise<void>;
  readonly close: () => Promise<void>;
  /** False if the path names another file by now, or none. */
  readonly isAtPath: () => boolean;
}

/** Opens a checkpoint file, creating it (0600) if it does not exist; its first `validBytes` bytes stay. */
export async function openCheckpoint(path: string, displayPath: string, validBytes: number): Promise<CheckpointFile> {
  const wrapFailures = createFailureWrapper(displayPath);
  const handle = await wrapFailures(() => open(path, 'a+', 0o600));
  await wrapFailures(() => handle.truncate(validBytes));
  const opened = await wrapFailures(() => handle.stat());
  let writtenBytes = validBytes;
  const append = coalesceWrites((entries) =>
    wrapFailures(async () => {
      try {
        writeAllSync(handle.fd, entries);
        writtenBytes += entries.length;
      } catch (error) {
        // A full disk may accept only part of the bytes; a partial result line is not a result.
        await handle.truncate(writtenBytes).catch(() => {});
        throw error;
      }
    }),
  );
  return {
    append,
    read: (offset, length) =>
      withFileFailure(`read ${displayPath}`, async () => {
        const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, offset);
        return buffer.subarray(0, bytesRead);
      }),
    sync: () => wrapFailures(() => handle.datasync()),
    close: () => wrapFailures(() => handle.close()),
    isAtPath: () => {
      try {
        const found = statSync(path);
        return found.ino === opened.ino && found.dev === opened.dev;
      } catch {
        return false;
      }
    },
  };
}

/** Writes the check of the result line at an offset; durable when it returns. Throws Failure `local`. */
export async function writeCheck(path: string, displayPath: string, offset: number, check: number): Promise<void> {
  await createFailureWrapper(displayPath)(async () => {
    const handle = await open(path, 'r+');
    try {
      await handle.write(formatCheck(check), offset);
      await handle.datasync();
    } finally {
      await handle.close();
    }
  });
}

/** Marks a checkpoint file of `lineCount` lines as that of a completed run, in the check of its last result line. */
export async function markCompleted(path: string, displayPath: string, lineCount: number): Promise<void> {
  const { check, offset } = await createFailureWrapper(displayPath)(() => readLastCheck(path));
  if (check !== undefined) await writeCheck(path, displayPath, offset, completionCheck(check, lineCount));
}

// Undefined for an empty file, and for a last line of svc 0.1.
async function readLastCheck(path: string): Promise<{ check: number | undefined; offset: number }> {
  const handle = await open(path, 'r');
  try {
    const { size } = await handle.stat();
    const offset = Math.max(0, size - CHECK_OFFSET_FROM_END - 1);
    const { buffer } = await handle.read(Buffer.alloc(CHECK_OFFSET_FROM_END), 0, CHECK_OFFSET_FROM_END, offset);
    const [, digits] = /^([0-9a-f]{8})"\}\}$/.exec(buffer.toString('latin1')) ?? [];
    return { check: digits === undefined ? undefined : Number.parseInt(digits, 16), offset };
  } finally {
    await handle.close();
  }
}

/** Turns the errors of the system into a Failure `local` that names the file as typed. */
export function createFailureWrapper(displayPath: string): <T>(action: () => Promise<T>) => Promise<T> {
  return (action) => withFileFailure(`write ${displayPath}`, action);
}

/** Appends bytes synchronously, which is faster than a write in the background. Throws system errors. */
export function writeAllSync(fileDescriptor: number, bytes: Uint8Array): void {
  for (let offset = 0; offset < bytes.length; ) offset += writeSync(fileDescriptor, bytes, offset);
}
