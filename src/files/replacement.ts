import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Failure } from '../errors.ts';
import { linkTarget, renameDurably } from './durable.ts';
import { errorCode, fileReason, isMissing } from './reason.ts';

/** A file being written under another name, so that nobody ever sees half of it. One that is not committed is to be abandoned. */
export interface Replacement {
  /** What is written goes straight to a terminal. */
  readonly isTerminal: boolean;
  readonly write: (bytes: string | Uint8Array) => Promise<void>;
  /** Puts the new file in the place of the old one, durably. Where that fails the old one stays, and the new one waits for `abandon`. */
  readonly commit: () => Promise<void>;
  /** Leaves the old file as it was; what was written is kept under `path`, or removed without one. */
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
    const target = await linkTarget(path);
    const { handle, temporary } = await openBeside(target, before ? 0o600 : mode);
    // Not at opening, where the umask has a say; where a file system knows no modes the file stays for its owner only.
    if (before) await handle.chmod(before.mode & 0o777).catch(() => {});
    return {
      isTerminal: false,
      write: (bytes) => guarded(typed, async () => void (await handle.writeFile(bytes))),
      commit: () =>
        guarded(typed, async () => {
          await handle.sync();
          await handle.close();
          await renameDurably(temporary, target);
        }),
      abandon: async (kept) => {
        await handle.close().catch(() => {});
        if (kept === undefined) return guarded(typed, () => rm(temporary, { force: true }));
        await rename(temporary, kept).catch((error: unknown) => {
          // A commit that failed last of all, at making the name last, has nothing left to keep.
          if (isMissing(error)) return;
          throw new Failure('local', `cannot write ${kept}: ${fileReason(error)}`, {
            hint: `what there is of it is in ${temporary}`,
          });
        });
      },
    };
  });
}

/** True for a path where a file is or can be, and no device or pipe. */
export async function isReplaceable(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile() || found.isDirectory(),
    () => true,
  );
}

/** Replaces a file by a text, or makes it: all of it or, with Failure `local`, nothing; as `replaceFile` otherwise. */
export async function writeWhole(path: string, typed: string, text: string, mode?: number): Promise<void> {
  const file = await replaceFile(path, typed, mode);
  try {
    await file.write(text);
    await file.commit();
  } catch (error) {
    // The first failure is the one to tell.
    await file.abandon().catch(() => {});
    throw error;
  }
}

// The first name that is free, which nobody else can have: so no chance is needed.
async function openBeside(target: string, mode: number): Promise<{ handle: FileHandle; temporary: string }> {
  for (let count = 1; ; count++) {
    const temporary = join(dirname(target), `.${basename(target)}.${count}.tmp`);
    try {
      return { handle: await open(temporary, 'wx', mode), temporary };
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw error;
    }
  }
}

async function writtenThrough(path: string, typed: string): Promise<Replacement> {
  // Loaded where there is no regular file only.
  const { isatty } = await import('node:tty');
  const handle = await open(path, 'w');
  return {
    isTerminal: isatty(handle.fd),
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
