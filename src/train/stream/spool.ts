import type { FileHandle } from 'node:fs/promises';
import { fileFailure } from '../../files/file-errors.ts';
import { openAnonymousFile } from '../../files/file-replacement.ts';
import { readByteRange, type TextSource } from './text-source.ts';

/** Copies input that can be read only once, so that it can be read again. */
export interface Spool {
  /** A source of bytes that can be read only once; they are copied during the first read. Throws Failure `local`. */
  readonly spoolSource: (readChunks: () => AsyncIterable<Uint8Array>, label: string) => TextSource;
  readonly close: () => Promise<void>;
}

/**
 * A spool with one anonymous file (0600) in `directory` for all copies, created at the first read. The system deletes it when
 * the process ends.
 */
export function createSpool(directory: string): Spool {
  let handle: FileHandle | undefined;
  let usedBytes = 0;
  const appendToSpool = async (chunk: Uint8Array, label: string): Promise<void> => {
    try {
      handle ??= await openAnonymousFile(directory);
      for (let at = 0; at < chunk.length; ) {
        const { bytesWritten } = await handle.write(chunk, at, chunk.length - at, usedBytes);
        at += bytesWritten;
        usedBytes += bytesWritten;
      }
    } catch (error) {
      throw fileFailure(`keep a copy of ${label} in ${directory}`, error, {
        hint: 'free space there, or set SVC_DATA_DIR to another directory',
        applied: 'no',
      });
    }
  };
  return {
    spoolSource: (readChunks, label) => {
      let baseOffset = 0;
      let size = 0;
      return {
        label,
        size: undefined,
        readFirst: async function* () {
          baseOffset = usedBytes;
          for await (const chunk of readChunks()) {
            await appendToSpool(chunk, label);
            size = usedBytes - baseOffset;
            yield chunk;
          }
        },
        readAgain: async function* (start = 0, end = size) {
          if (handle) yield* readByteRange(handle, baseOffset + start, baseOffset + end, label);
        },
        verifyUnchanged: async () => {},
        close: async () => {},
      };
    },
    close: async () => handle?.close(),
  };
}
