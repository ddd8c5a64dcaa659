import { Buffer } from 'node:buffer';
import { type FileHandle, open } from 'node:fs/promises';
import { Failure } from '../../errors.ts';
import { fileFailure } from '../../files/file-errors.ts';

/** A text with trajectories: read once, and again if it is a file or a copy. */
export interface TextSource {
  /** Its name in messages: the file as typed, or stdin. */
  readonly label: string;
  /** Bytes, if known before the text is read. */
  readonly size: number | undefined;
  /** The whole text, for the first time, in `passing` chunks. Throws Failure `local` if it cannot be read. */
  readonly readFirst: () => AsyncIterable<Uint8Array>;
  /** A range of bytes, or the whole text, after the first time, in `passing` chunks. Throws Failure `local` if it became shorter. */
  readonly readAgain: (start?: number, end?: number) => AsyncIterable<Uint8Array>;
  /** Throws Failure `local` if the size, modification time or inode of a file changed since it was opened. */
  readonly verifyUnchanged: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/** A regular file as a source. It is open only while it is read, so there may be any number of them. */
export async function createFileSource(path: string, label: string, handleAtOpen: FileHandle): Promise<TextSource> {
  const { size, mtimeMs, ino } = await handleAtOpen.stat();
  // Many ranges are read again, so their handle stays open.
  let heldHandle: FileHandle | undefined;
  const openHandle = (): Promise<FileHandle> =>
    open(path).catch((error: unknown) => {
      throw unreadableFileFailure(label, error);
    });
  const readAll = async function* (): AsyncGenerator<Uint8Array> {
    const handle = await openHandle();
    try {
      yield* readByteRange(handle, 0, size, label);
    } finally {
      await handle.close();
    }
  };
  return {
    label,
    size,
    readFirst: readAll,
    readAgain: async function* (start = 0, end = size) {
      if (start === 0 && end === size) return yield* readAll();
      heldHandle ??= await openHandle();
      yield* readByteRange(heldHandle, start, end, label);
    },
    verifyUnchanged: async () => {
      const handle = await openHandle();
      const current = await handle.stat().finally(() => handle.close());
      if (current.size !== size || current.mtimeMs !== mtimeMs || current.ino !== ino) throw changedFileFailure(label);
    },
    close: async () => heldHandle?.close(),
  };
}

// Large enough that few trajectories are cut, small enough for memory.
const READ_CHUNK_BYTES = 1024 * 1024;

/**
 * A range of bytes of a file in `passing` chunks, of which the next is read while the caller works on one. Throws Failure
 * `local`, also if the file is shorter.
 */
export async function* readByteRange(
  handle: FileHandle,
  start: number,
  end: number,
  label: string,
): AsyncGenerator<Uint8Array> {
  const readAt = async (at: number, buffer: Buffer): Promise<Buffer> => {
    const { bytesRead } = await handle
      .read(buffer, 0, Math.min(buffer.length, end - at), at)
      .catch((error: unknown) => {
        throw unreadableFileFailure(label, error);
      });
    if (bytesRead === 0) throw changedFileFailure(label);
    return buffer.subarray(0, bytesRead);
  };
  if (start === end) return;
  const allocate = (at: number): Buffer => Buffer.allocUnsafeSlow(Math.min(READ_CHUNK_BYTES, end - at));
  let pending = readAt(start, allocate(start));
  let spare: Buffer | undefined;
  for (let at = start; at < end; ) {
    const chunk = await pending;
    at += chunk.length;
    if (at < end) {
      pending = readAt(at, spare ?? allocate(at));
      // Thrown when its turn comes; the caller may stop before.
      pending.catch(() => {});
    }
    yield chunk;
    spare = Buffer.from(chunk.buffer);
  }
}

/** The failure of a file that cannot be read. */
export function unreadableFileFailure(label: string, error: unknown): Failure {
  return fileFailure(`read ${label}`, error, { applied: 'no' });
}

/** The failure of a file that changed after it was checked. */
export function changedFileFailure(label: string): Failure {
  return new Failure('local', `${label} was changed after it was checked; nothing was applied`, {
    hint: 'run the command again when no other process writes to the file',
    applied: 'no',
  });
}
