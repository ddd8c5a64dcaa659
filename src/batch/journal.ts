import { writeSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { Failure } from '../errors.ts';
import { grouped } from '../files/grouped.ts';
import { fileReason } from '../files/reason.ts';

/** Where the entries of a batch go. All of it throws Failure `local`. */
export interface Journal {
  readonly append: (entry: Uint8Array) => Promise<void>;
  /** Makes what was appended last even if the power fails. */
  readonly sync: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/** The journal in a file, made if it is not there; of its present content the first `length` bytes stay. */
export async function openJournal(path: string, typed: string, length: number): Promise<Journal> {
  const guarded = guardedBy(typed);
  const handle = await guarded(() => open(path, 'a'));
  await guarded(() => handle.truncate(length));
  let size = length;
  const append = grouped((entries) =>
    guarded(async () => {
      try {
        writeWholly(handle.fd, entries);
        size += entries.length;
      } catch (error) {
        // A disk that is full takes a part of what it is given; half an entry would be no entry.
        await handle.truncate(size).catch(() => {});
        throw error;
      }
    }),
  );
  return { append, sync: () => guarded(() => handle.datasync()), close: () => guarded(() => handle.close()) };
}

/** Guards what is done to a file: what the system says against it is a Failure `local` that names the file as typed. */
export function guardedBy(typed: string): <T>(action: () => Promise<T>) => Promise<T> {
  return async (action) => {
    try {
      return await action();
    } catch (error) {
      throw error instanceof Failure ? error : new Failure('local', `cannot write ${typed}: ${fileReason(error)}`);
    }
  };
}

/**
 * Writes all bytes at the end of a file, at once: to what the system holds of it, which takes less time than to have it
 * done in the background. Throws what the system throws.
 */
export function writeWholly(file: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
}
