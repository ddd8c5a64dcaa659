import { type FileHandle, open } from 'node:fs/promises';
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
  const append = grouped((bytes) =>
    guarded(async () => {
      await wholly(handle, bytes, size);
      size += bytes.length;
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

// A disk that is full takes a part of what it is given; half an entry would be no entry.
async function wholly(handle: FileHandle, bytes: Uint8Array, size: number): Promise<void> {
  try {
    await handle.writeFile(bytes);
  } catch (error) {
    await handle.truncate(size).catch(() => {});
    throw error;
  }
}
