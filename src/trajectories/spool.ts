import type { FileHandle } from 'node:fs/promises';
import { Failure } from '../errors.ts';
import { openNameless } from '../files/nameless.ts';
import { fileReason } from '../files/reason.ts';
import { bytesFrom, type TextSource } from './source.ts';

/** Where what can be read once only is copied to, so that it can be read again. */
export interface Spool {
  /** A source of bytes that come once; they are copied as they are read for the first time. Throws Failure `local`. */
  readonly source: (pieces: () => AsyncIterable<Uint8Array>, label: string) => TextSource;
  readonly close: () => Promise<void>;
}

/**
 * One file in `folder` for all copies, made when the first is read. It is for its owner only and has no name: whatever
 * ends the process, nothing of it stays.
 */
export function newSpool(folder: string): Spool {
  let handle: FileHandle | undefined;
  let used = 0;
  const keep = async (piece: Uint8Array, label: string): Promise<void> => {
    try {
      handle ??= await openNameless(folder);
      for (let at = 0; at < piece.length; ) {
        const { bytesWritten } = await handle.write(piece, at, piece.length - at, used);
        at += bytesWritten;
        used += bytesWritten;
      }
    } catch (error) {
      throw new Failure('local', `cannot keep a copy of ${label} in ${folder}: ${fileReason(error)}`, {
        hint: '--no-spool sends it as it comes; SVC_DATA_DIR names another folder',
        applied: 'no',
      });
    }
  };
  return {
    source: (pieces, label) => {
      let base = 0;
      let size = 0;
      return {
        label,
        size: undefined,
        isOnce: false,
        first: async function* () {
          base = used;
          for await (const piece of pieces()) {
            await keep(piece, label);
            size = used - base;
            yield piece;
          }
        },
        again: async function* (start = 0, end = size) {
          if (handle) yield* bytesFrom(handle, base + start, base + end, label);
        },
        refuseChanged: async () => {},
        close: async () => {},
      };
    },
    close: async () => handle?.close(),
  };
}
