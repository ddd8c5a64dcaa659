import { Buffer } from 'node:buffer';
import { type FileHandle, open } from 'node:fs/promises';
import { Failure } from '../errors.ts';
import { describeFileError } from '../files/file-errors.ts';
import { openReplacement } from '../files/file-replacement.ts';
import { createLineIndex, type LineIndex } from './line-index.ts';
import { readCheckpoint } from './read-checkpoint.ts';

/** A journal: its path, and as the user typed it. */
export interface CheckpointPath {
  readonly path: string;
  readonly displayPath: string;
}

/** Puts a journal in the order of its lines, one entry each, unless it is. All of it or, with Failure `local`, nothing. */
export async function compactCheckpoint(checkpoint: CheckpointPath): Promise<void> {
  const lineIndex = createLineIndex();
  const { isCompact } = await readCheckpoint(checkpoint.path, checkpoint.displayPath, 0, lineIndex);
  if (isCompact) return;
  const file = await openReplacement(checkpoint.path, checkpoint.displayPath);
  try {
    await writeEntriesInOrder(lineIndex, [checkpoint], file.write);
    await file.commit();
  } catch (error) {
    await file.abandon().catch(() => {});
    throw error;
  }
}

/** Writes the entries of a table in the order of their lines, byte for byte as they stand in their journals. */
export async function writeEntriesInOrder(
  lineIndex: LineIndex,
  checkpoints: readonly CheckpointPath[],
  write: (entry: Uint8Array) => Promise<void>,
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
      pendingEntries.push(entry, NEWLINE);
      pendingBytes += entry.length + 1;
      if (pendingBytes > WRITE_CHUNK_BYTES) await flush();
    }
    await flush();
  } finally {
    for (const handle of handles.values()) await handle.close();
  }
}

const NEWLINE = Buffer.from('\n');
const WRITE_CHUNK_BYTES = 256 * 1024;

async function openForReading({ path, displayPath }: CheckpointPath): Promise<FileHandle> {
  return open(path, 'r').catch((error: unknown) => {
    throw new Failure('local', `cannot read ${displayPath}: ${describeFileError(error)}`);
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
  throw new Failure('local', `${displayPath} changed while it was read`);
}
