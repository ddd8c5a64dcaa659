import { Buffer } from 'node:buffer';
import { type FileHandle, open } from 'node:fs/promises';
import { Failure } from '../errors.ts';
import { fileReason } from '../files/reason.ts';
import { replaceFile } from '../files/replacement.ts';
import { readJournal } from './history.ts';
import { emptyTable, type Table } from './table.ts';

/** A journal: its path, and as the user typed it. */
export interface Named {
  readonly path: string;
  readonly typed: string;
}

/** Puts a journal in the order of its lines, one entry each, unless it is. All of it or, with Failure `local`, nothing. */
export async function tidyJournal(journal: Named): Promise<void> {
  const table = emptyTable();
  const { isTidy } = await readJournal(journal.path, journal.typed, 0, table);
  if (isTidy) return;
  const file = await replaceFile(journal.path, journal.typed);
  try {
    await writeEntries(table, [journal], file.write);
    await file.commit();
  } catch (error) {
    await file.abandon().catch(() => {});
    throw error;
  }
}

/** Writes the entries of a table in the order of their lines, byte for byte as they stand in their journals. */
export async function writeEntries(
  table: Table,
  journals: readonly Named[],
  write: (entry: Uint8Array) => Promise<void>,
): Promise<void> {
  const handles = new Map<Named, FileHandle>();
  let waiting: Buffer[] = [];
  let size = 0;
  const flush = async (): Promise<void> => {
    await write(Buffer.concat(waiting));
    waiting = [];
    size = 0;
  };
  try {
    for (const line of table.lines()) {
      const found = table.get(line);
      const journal = found && journals[found.file];
      if (!journal) continue;
      const handle = handles.get(journal) ?? (await opened(journal));
      handles.set(journal, handle);
      const entry = await readAt(handle, found.offset, found.length, journal);
      waiting.push(entry, LINE_END);
      size += entry.length + 1;
      if (size > PIECE) await flush();
    }
    await flush();
  } finally {
    for (const handle of handles.values()) await handle.close();
  }
}

const LINE_END = Buffer.from('\n');
const PIECE = 256 * 1024;

async function opened({ path, typed }: Named): Promise<FileHandle> {
  return open(path, 'r').catch((error: unknown) => {
    throw new Failure('local', `cannot read ${typed}: ${fileReason(error)}`);
  });
}

async function readAt(handle: FileHandle, offset: number, length: number, { typed }: Named): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length);
  const { bytesRead } = await handle.read(bytes, 0, length, offset);
  if (bytesRead === length) return bytes;
  throw new Failure('local', `${typed} changed while it was read`);
}
