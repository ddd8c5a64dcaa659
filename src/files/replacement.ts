import { randomBytes } from 'node:crypto';
import { open, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Failure } from '../errors.ts';
import { fileReason, isMissing } from './reason.ts';

/** A file being written under another name, so that nobody ever sees half of it. */
export interface Replacement {
  readonly write: (bytes: string | Uint8Array) => Promise<void>;
  /** Puts the new file in the place of the old one, durably. */
  readonly commit: () => Promise<void>;
  /** Leaves the old file as it was; what was written is kept under `path`, or lost without one. */
  readonly abandon: (path?: string) => Promise<void>;
}

/**
 * Starts to replace a file, or to make it. What is no regular file (a device, a pipe) is written through instead. All
 * of it throws Failure `local` with the path as typed. `mode` is that of a new file; an old one keeps its own.
 */
export async function replaceFile(path: string, typed: string, mode = 0o666): Promise<Replacement> {
  return guarded(typed, async () => {
    const before = await stat(path).catch((error: unknown) => {
      if (isMissing(error)) return undefined;
      throw error;
    });
    if (before && !before.isFile()) return writtenThrough(path, typed);
    // The target of a link is replaced, not the link.
    const target = before ? await realpath(path) : path;
    const temporary = join(dirname(target), `.${basename(target)}.${randomBytes(6).toString('hex')}.tmp`);
    const handle = await open(temporary, 'wx', before ? before.mode & 0o777 : mode);
    const close = async (): Promise<void> => handle.close();
    return {
      write: (bytes) => guarded(typed, async () => void (await handle.writeFile(bytes))),
      commit: () =>
        guarded(typed, async () => {
          await handle.sync();
          await close();
          await rename(temporary, target);
        }),
      abandon: (kept) =>
        guarded(typed, async () => {
          await close();
          if (kept === undefined) await rm(temporary, { force: true });
          else await rename(temporary, kept);
        }),
    };
  });
}

async function writtenThrough(path: string, typed: string): Promise<Replacement> {
  const handle = await open(path, 'w');
  return {
    write: (bytes) => guarded(typed, async () => void (await handle.writeFile(bytes))),
    commit: () => guarded(typed, () => handle.close()),
    abandon: () => handle.close(),
  };
}

async function guarded<T>(typed: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw new Failure('local', `cannot write ${typed}: ${fileReason(error)}`);
  }
}
