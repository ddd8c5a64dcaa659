import { Buffer } from 'node:buffer';
import { fstat } from 'node:fs';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { type FileReplacement, isReplaceable, openReplacement } from '../files/file-replacement.ts';
import type { OutputStream } from '../runtime.ts';
import { createEscapeFilter } from './escape-controls.ts';
import type { Writer } from './writer.ts';

/** The destination of a result. Nothing is final before `commit`. */
export interface Sink {
  readonly writer: Writer;
  /** An incomplete result is kept in `F.partial`; otherwise what is written is final. */
  readonly keepsPartial: boolean;
  readonly commit: () => Promise<void>;
  /** Keeps an incomplete result in `F.partial`, unless it is empty. Does nothing after a commit. */
  readonly abandon: () => Promise<{ readonly location: string; readonly cause: unknown } | undefined>;
}

/** The sink of `-o`. If the file cannot be written and stdout is on another disk, all goes to `fallback`; `commit` then throws the Failure. */
export async function openSink(
  output: string | undefined,
  stdout: Writer,
  cwd: string,
  fallback?: OutputStream,
): Promise<Sink> {
  if (output === undefined || output === '-') {
    return {
      writer: stdout,
      keepsPartial: false,
      commit: () => stdout.end(),
      abandon: () => stdout.end().then(() => undefined),
    };
  }
  return openFileSink(output, resolve(cwd, output), stdout, fallback);
}

async function openFileSink(output: string, path: string, stdout: Writer, fallback?: OutputStream): Promise<Sink> {
  // A result may hold secrets; an existing file keeps its mode.
  const file = await openReplacement(path, output, 0o600);
  const filter = file.isTerminal ? createEscapeFilter() : undefined;
  const overflow = createOverflow(file, stdout, fallback);
  let writtenBytes = 0;
  let isFinished = false;
  const write = async (text: string | Uint8Array): Promise<void> => {
    if (overflow.cause() !== undefined) return overflow.write(text);
    const escaped = filter ? filter.push(text) : text;
    try {
      await file.write(escaped);
      writtenBytes += Buffer.byteLength(escaped);
    } catch (error) {
      await overflow.start(error, writtenBytes, text);
    }
  };
  const end = async (): Promise<void> => {
    if (filter) await file.write(filter.flush());
  };
  return {
    keepsPartial: await isReplaceable(path),
    writer: { isTerminal: false, hasColor: false, columns: 80, write, end },
    commit: async () => {
      if (isFinished) return;
      if (overflow.cause() === undefined)
        await end()
          .then(file.commit)
          .catch((error: unknown) => overflow.start(error, writtenBytes, ''));
      if (overflow.cause() !== undefined) {
        await stdout.end();
        throw overflow.cause();
      }
      isFinished = true;
    },
    abandon: async () => {
      if (isFinished) return undefined;
      isFinished = true;
      const cause = overflow.cause();
      let location = overflow.location();
      const hasPart = location === undefined && (writtenBytes > 0 || (await file.stats().catch(() => undefined))?.size);
      if (await file.abandon(hasPart ? `${path}.partial` : undefined))
        location = `the partial output is in ${output}.partial`;
      else if (cause !== undefined) location ??= 'the output was not stored anywhere';
      return location === undefined ? undefined : { location, cause };
    },
  };
}

// Where a result goes whose file cannot be written. `location`: undefined where nothing of it is on stdout.
function createOverflow(file: FileReplacement, stdout: Writer, fallback: OutputStream | undefined) {
  let cause: unknown;
  let location: string | undefined;
  return {
    cause: () => cause,
    location: () => location,
    /** Copies what was written to stdout, and the rest after it. Throws the error if that is not possible. */
    start: async (error: unknown, writtenBytes: number, rest: string | Uint8Array): Promise<void> => {
      cause = error;
      if (!fallback || !(await isElsewhere(fallback, file))) throw error;
      let copiedBytes = 0;
      try {
        if (writtenBytes > 0)
          for await (const chunk of file.read(writtenBytes)) {
            await stdout.write(chunk);
            copiedBytes += chunk.length;
          }
        await stdout.write(rest);
      } catch {
        throw error;
      }
      location = copiedBytes === writtenBytes ? 'the output is on stdout' : 'the rest of the output is on stdout';
    },
    write: async (text: string | Uint8Array): Promise<void> => {
      // After a gap, the partial output would be wrong.
      if (location === undefined) throw cause;
      await stdout.write(text).catch(() => {
        location = 'only a part of the output is on stdout';
        throw cause;
      });
    },
  };
}

/** A sink for lines that writes what `toText` makes of them. */
export function mapLines(sink: Sink, toText: (lines: string) => Promise<string>): Sink {
  const write: Writer['write'] = async (lines) => sink.writer.write(await toText(Buffer.from(lines).toString()));
  return { ...sink, writer: { ...sink.writer, write } };
}

// Devices other than a terminal discard or reject what is written, and a file on the same disk has no space either.
async function isElsewhere({ fd, isTTY }: OutputStream, file: FileReplacement): Promise<boolean> {
  try {
    if (fd === undefined || isTTY) return true;
    const [stdout, target] = [await promisify(fstat)(fd), await file.stats()];
    const isOnSameDisk = stdout.dev === target.dev && (stdout.isFile() || stdout.ino === target.ino);
    return !stdout.isCharacterDevice() && !isOnSameDisk;
  } catch {
    return false;
  }
}
