import { Buffer } from 'node:buffer';
import { type FileHandle, open } from 'node:fs/promises';
import { Failure } from '../../errors.ts';
import { fileFailure } from '../../files/file-errors.ts';

/** A text with trajectories that can be read: once as it comes, and where it is on the disk, again. */
export interface TextSource {
  /** What messages call it: the file as typed, or stdin. */
  readonly label: string;
  /** Bytes, where they are known before the text is read. */
  readonly size: number | undefined;
  /** It can be read once only. */
  readonly isSinglePass: boolean;
  /** All of it, for the first time, in passing pieces. Throws Failure `local` where it cannot be read. */
  readonly readFirst: () => AsyncIterable<Uint8Array>;
  /** From one offset to another, after the first time, in passing pieces; without them all of it. Throws Failure `local` where it is shorter by now. */
  readonly readAgain: (start?: number, end?: number) => AsyncIterable<Uint8Array>;
  /** Throws Failure `local` where a file was changed since it was opened, as far as its size and time tell. */
  readonly verifyUnchanged: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/** The source that a regular file is. It is open only while it is read, so that there may be any number of them. */
export async function createFileSource(path: string, label: string, handleAtOpen: FileHandle): Promise<TextSource> {
  const { size, mtimeMs, ino } = await handleAtOpen.stat();
  // Parts are read again and again; so what they are read from stays open.
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
    isSinglePass: false,
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

// Large enough that reading costs little, small enough that many of them fit into memory.
const READ_CHUNK_BYTES = 1024 * 1024;

/** The bytes of a file from one offset to another, in passing pieces. Throws Failure `local`, also where the file is shorter. */
export async function* readByteRange(
  handle: FileHandle,
  start: number,
  end: number,
  label: string,
): AsyncGenerator<Uint8Array> {
  const chunk = Buffer.allocUnsafeSlow(Math.min(READ_CHUNK_BYTES, end - start));
  for (let at = start; at < end; ) {
    const { bytesRead } = await handle.read(chunk, 0, Math.min(chunk.length, end - at), at).catch((error: unknown) => {
      throw unreadableFileFailure(label, error);
    });
    if (bytesRead === 0) throw changedFileFailure(label);
    at += bytesRead;
    yield chunk.subarray(0, bytesRead);
  }
}

/** The failure of a file that cannot be read. */
export function unreadableFileFailure(label: string, error: unknown): Failure {
  return fileFailure(`read ${label}`, error, { applied: 'no' });
}

/** The failure of a file that is no longer what was checked. */
export function changedFileFailure(label: string): Failure {
  return new Failure('local', `${label} was changed after it was checked; nothing was applied`, {
    hint: 'run it again when nobody writes to it',
    applied: 'no',
  });
}
