import { Buffer } from 'node:buffer';
import { type FileHandle, open } from 'node:fs/promises';
import { Failure } from '../errors.ts';
import { fileReason } from '../files/reason.ts';

/** A text with trajectories that can be read: once as it comes, and where it is on the disk, again. */
export interface TextSource {
  /** What messages call it: the file as typed, or stdin. */
  readonly label: string;
  /** Bytes, where they are known before the text is read. */
  readonly size: number | undefined;
  /** It can be read once only. */
  readonly isOnce: boolean;
  /** All of it, for the first time, in passing pieces. Throws Failure `local` where it cannot be read. */
  readonly first: () => AsyncIterable<Uint8Array>;
  /** From one offset to another, after the first time, in passing pieces; without them all of it. Throws Failure `local` where it is shorter by now. */
  readonly again: (start?: number, end?: number) => AsyncIterable<Uint8Array>;
  /** Throws Failure `local` where a file was changed since it was opened, as far as its size and time tell. */
  readonly refuseChanged: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/** The source that a regular file is. It is open only while it is read, so that there may be any number of them. */
export async function fileSource(path: string, label: string, before: FileHandle): Promise<TextSource> {
  const { size, mtimeMs, ino } = await before.stat();
  // Parts are read again and again; so what they are read from stays open.
  let held: FileHandle | undefined;
  const opened = (): Promise<FileHandle> =>
    open(path).catch((error: unknown) => {
      throw unread(label, error);
    });
  const whole = async function* (): AsyncGenerator<Uint8Array> {
    const handle = await opened();
    try {
      yield* bytesFrom(handle, 0, size, label);
    } finally {
      await handle.close();
    }
  };
  return {
    label,
    size,
    isOnce: false,
    first: whole,
    again: async function* (start = 0, end = size) {
      if (start === 0 && end === size) return yield* whole();
      held ??= await opened();
      yield* bytesFrom(held, start, end, label);
    },
    refuseChanged: async () => {
      const handle = await opened();
      const now = await handle.stat().finally(() => handle.close());
      if (now.size !== size || now.mtimeMs !== mtimeMs || now.ino !== ino) throw changed(label);
    },
    close: async () => held?.close(),
  };
}

// Large enough that reading costs little, small enough that many of them fit into memory.
const PIECE = 256 * 1024;

/** The bytes of a file from one offset to another, in passing pieces. Throws Failure `local`, also where the file is shorter. */
export async function* bytesFrom(
  handle: FileHandle,
  start: number,
  end: number,
  label: string,
): AsyncGenerator<Uint8Array> {
  const piece = Buffer.allocUnsafeSlow(Math.min(PIECE, end - start));
  for (let at = start; at < end; ) {
    const { bytesRead } = await handle.read(piece, 0, Math.min(piece.length, end - at), at).catch((error: unknown) => {
      throw unread(label, error);
    });
    if (bytesRead === 0) throw changed(label);
    at += bytesRead;
    yield piece.subarray(0, bytesRead);
  }
}

/** The failure of a file that cannot be read. */
export function unread(label: string, error: unknown): Failure {
  return new Failure('local', `cannot read ${label}: ${fileReason(error)}`, { applied: 'no' });
}

/** The failure of a file that is no longer what was checked. */
export function changed(label: string): Failure {
  return new Failure('local', `${label} was changed after it was checked; nothing was applied`, {
    hint: 'run it again when nobody writes to it',
    applied: 'no',
  });
}
