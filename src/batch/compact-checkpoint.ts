import { Buffer } from 'node:buffer';
import { type FileHandle, open } from 'node:fs/promises';
import { Failure } from '../errors.ts';
import { fileFailure } from '../files/file-errors.ts';
import { commitOrAbandon, openReplacement } from '../files/file-replacement.ts';
import { createLineIndex, type IndexedEntry, type LineIndex } from './line-index.ts';
import { type CheckpointState, readCheckpoint } from './read-checkpoint.ts';
import { CHECK_OFFSET_FROM_END, formatCheck, readSeal, sealEntry } from './seal.ts';

/** A checkpoint file: its path, and the path as the user typed it. */
export interface CheckpointPath {
  readonly path: string;
  readonly displayPath: string;
}

/**
 * Rewrites a checkpoint file in the order of its lines, one result each and without `removedLines`; returns the number of
 * lines. The file changes completely or, with Failure `local`, not at all.
 */
export async function compactCheckpoint(
  checkpoint: CheckpointPath,
  removedLines: ReadonlySet<number> = new Set(),
): Promise<number> {
  const lineIndex = createLineIndex();
  const { isCompact } = await readCheckpoint(checkpoint.path, checkpoint.displayPath, 0, lineIndex);
  if (isCompact && removedLines.size === 0) return lineIndex.size();
  for (const line of removedLines) lineIndex.remove(line);
  await replaceEntries(checkpoint, lineIndex, (entry) => entry);
  return lineIndex.size();
}

/**
 * Seals the results of svc 0.1 whose digests are in the index, so that later changes of their input lines are noticed, and
 * reads the file again. The file changes completely or, with Failure `local`, not at all.
 */
export async function sealLegacyEntries(
  checkpoint: CheckpointPath,
  lineIndex: LineIndex,
  stamp: string,
): Promise<CheckpointState> {
  await replaceEntries(checkpoint, lineIndex, (entry, { digest }) => {
    if (digest === undefined || readSeal(entry)) return entry;
    const end = entry.lastIndexOf('}') + 1;
    return sealEntry(Buffer.concat([entry.subarray(0, end), NEWLINE]), digest, stamp).subarray(0, -1);
  });
  return readCheckpoint(checkpoint.path, checkpoint.displayPath, 0, lineIndex);
}

/** Changes a result line, without its line feed, before it is written. */
type EntryEdit = (entry: Buffer, indexed: IndexedEntry) => Buffer;

async function replaceEntries(checkpoint: CheckpointPath, lineIndex: LineIndex, edit: EntryEdit): Promise<void> {
  const file = await openReplacement(checkpoint.path, checkpoint.displayPath);
  await commitOrAbandon(file, () => writeEntriesInOrder(lineIndex, [checkpoint], file.write, edit));
}

/** Writes results in the order of their lines, byte for byte unless edited; the mark of a completed run is removed. */
export async function writeEntriesInOrder(
  lineIndex: LineIndex,
  checkpoints: readonly CheckpointPath[],
  write: (entry: Uint8Array) => Promise<void>,
  edit: EntryEdit = (entry) => entry,
): Promise<void> {
  const handles = new Map<CheckpointPath, FileHandle>();
  let pendingEntries: Buffer[] = [];
  let pendingBytes = 0;
  const flush = async (): Promise<void> => {
    await write(Buffer.concat(pendingEntries));
    pendingEntries = [];
    pendingBytes = 0;
  };
  try {
    for (const line of lineIndex.lines()) {
      const location = lineIndex.get(line);
      const checkpoint = location && checkpoints[location.fileIndex];
      if (!checkpoint) continue;
      const handle = handles.get(checkpoint) ?? (await openForReading(checkpoint));
      handles.set(checkpoint, handle);
      const entry = await readExactly(handle, location.offset, location.length, checkpoint);
      removeCompletionMark(entry);
      const edited = edit(entry, location);
      pendingEntries.push(edited, NEWLINE);
      pendingBytes += edited.length + 1;
      if (pendingBytes > WRITE_CHUNK_BYTES) await flush();
    }
    await flush();
  } finally {
    for (const handle of handles.values()) await handle.close();
  }
}

// The mark counts the lines of the file that the result was in.
function removeCompletionMark(entry: Buffer): void {
  const seal = readSeal(entry);
  if (seal && seal.check !== seal.expectedCheck)
    entry.write(formatCheck(seal.expectedCheck), entry.length - CHECK_OFFSET_FROM_END);
}

const NEWLINE = Buffer.from('\n');
const WRITE_CHUNK_BYTES = 256 * 1024;

async function openForReading({ path, displayPath }: CheckpointPath): Promise<FileHandle> {
  return open(path, 'r').catch((error: unknown) => {
    throw fileFailure(`read ${displayPath}`, error);
  });
}

async function readExactly(
  handle: FileHandle,
  offset: number,
  length: number,
  { displayPath }: CheckpointPath,
): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length);
  const { bytesRead } = await handle.read(bytes, 0, length, offset);
  if (bytesRead === length) return bytes;
  throw new Failure('local', `${displayPath} changed while svc read it`, {
    hint: 'run the command again',
  });
}
