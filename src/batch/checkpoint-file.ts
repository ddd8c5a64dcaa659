import { writeSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { Failure } from '../errors.ts';
import { coalesceWrites } from '../files/coalesced-writes.ts';
import { describeFileError } from '../files/file-errors.ts';

/** Where the entries of a batch go. All of it throws Failure `local`. */
export interface CheckpointFile {
  readonly append: (entry: Uint8Array) => Promise<void>;
  /** Makes what was appended last even if the power fails. */
  readonly sync: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/** The journal in a file, made if it is not there; of its present content the first `length` bytes stay. */
export async function openCheckpoint(path: string, displayPath: string, validBytes: number): Promise<CheckpointFile> {
  const wrapFailures = createFailureWrapper(displayPath);
  const handle = await wrapFailures(() => open(path, 'a'));
  await wrapFailures(() => handle.truncate(validBytes));
  let writtenBytes = validBytes;
  const append = coalesceWrites((entries) =>
    wrapFailures(async () => {
      try {
        writeAllSync(handle.fd, entries);
        writtenBytes += entries.length;
      } catch (error) {
        // A disk that is full takes a part of what it is given; half an entry would be no entry.
        await handle.truncate(writtenBytes).catch(() => {});
        throw error;
      }
    }),
  );
  return { append, sync: () => wrapFailures(() => handle.datasync()), close: () => wrapFailures(() => handle.close()) };
}

/** Guards what is done to a file: what the system says against it is a Failure `local` that names the file as typed. */
export function createFailureWrapper(displayPath: string): <T>(action: () => Promise<T>) => Promise<T> {
  return async (action) => {
    try {
      return await action();
    } catch (error) {
      throw error instanceof Failure
        ? error
        : new Failure('local', `cannot write ${displayPath}: ${describeFileError(error)}`);
    }
  };
}

/**
 * Writes all bytes at the end of a file, at once: to what the system holds of it, which takes less time than to have it
 * done in the background. Throws what the system throws.
 */
export function writeAllSync(fileDescriptor: number, bytes: Uint8Array): void {
  for (let offset = 0; offset < bytes.length; ) offset += writeSync(fileDescriptor, bytes, offset);
}
