import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { errorCode, fileFailure, isNotFoundError, withFileFailure } from './file-errors.ts';
import { renameDurably, resolveSymlinks } from './rename-durably.ts';

/** A file being written under another name, so that nobody ever sees half of it. One that is not committed is to be abandoned. */
export interface FileReplacement {
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
export async function openReplacement(path: string, displayPath: string, mode = 0o666): Promise<FileReplacement> {
  return withFileFailure(`write ${displayPath}`, async () => {
    const existing = await stat(path).catch((error: unknown) => {
      if (isNotFoundError(error)) return undefined;
      throw error;
    });
    if (existing && !existing.isFile()) return openDirectWriter(path, displayPath);
    // The target of a link is replaced, not the link.
    const target = await resolveSymlinks(path);
    const { handle, temporary } = await openTemporaryFile(target, existing ? 0o600 : mode);
    // Not at opening, where the umask has a say; where a file system knows no modes the file stays for its owner only.
    if (existing) await handle.chmod(existing.mode & 0o777).catch(() => {});
    return {
      isTerminal: false,
      write: (bytes) => withFileFailure(`write ${displayPath}`, async () => void (await handle.writeFile(bytes))),
      commit: () =>
        withFileFailure(`write ${displayPath}`, async () => {
          await handle.sync();
          await handle.close();
          await renameDurably(temporary, target);
        }),
      abandon: async (kept) => {
        await handle.close().catch(() => {});
        if (kept === undefined) return withFileFailure(`write ${displayPath}`, () => rm(temporary, { force: true }));
        await rename(temporary, kept).catch((error: unknown) => {
          // A commit that failed last of all, at making the name last, has nothing left to keep.
          if (isNotFoundError(error)) return;
          throw fileFailure(`write ${kept}`, error, {
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
export async function writeFileAtomically(
  path: string,
  displayPath: string,
  text: string,
  mode?: number,
): Promise<void> {
  const file = await openReplacement(path, displayPath, mode);
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
async function openTemporaryFile(target: string, mode: number): Promise<{ handle: FileHandle; temporary: string }> {
  for (let count = 1; ; count++) {
    const temporary = join(dirname(target), `.${basename(target)}.${count}.tmp`);
    try {
      return { handle: await open(temporary, 'wx', mode), temporary };
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw error;
    }
  }
}

async function openDirectWriter(path: string, displayPath: string): Promise<FileReplacement> {
  // Loaded where there is no regular file only.
  const { isatty } = await import('node:tty');
  const handle = await open(path, 'w');
  return {
    isTerminal: isatty(handle.fd),
    write: (bytes) => withFileFailure(`write ${displayPath}`, async () => void (await handle.writeFile(bytes))),
    commit: () => withFileFailure(`write ${displayPath}`, () => handle.close()),
    abandon: () => handle.close(),
  };
}
