import type { Buffer } from 'node:buffer';
import { createReadStream } from 'node:fs';
import { Failure } from '../errors.ts';
import { fileReason, isMissing } from '../files/reason.ts';
import { type Entry, readEntry } from './entry.ts';
import { linesOf } from './line.ts';
import type { Table } from './table.ts';

/** What a journal held. */
export interface History {
  /** Bytes of it that are whole entries; what follows was torn. */
  readonly length: number;
  /** Its last entry lacks its line end. */
  readonly isUnended: boolean;
  /** Entries that are superseded by another one about the same line, or do not stand in the order of the lines. */
  readonly isTidy: boolean;
}

// Where the beginning of an entry as we write it tells what has to be known, the rest of it need not be read.
const HEAD =
  /^\{"line":(\d{1,15}),"id":(?:null|"(?:[^"\\]|\\.)*"),"status":(?:null|\d+),"exit_code":(\d{1,3}),"applied":"(no|yes|unknown)",/;
const HEAD_BYTES = 1024;

/**
 * Reads a journal into a table, as its `file`-th. Of two entries about a line the later one counts, but none that failed
 * stands for one that did not. One that is not there is empty. Throws Failure `local` for what is no journal.
 */
export async function readJournal(path: string, typed: string, file: number, table: Table): Promise<History> {
  let length = 0;
  let isTidy = true;
  let last = 0;
  try {
    for await (const { number, offset, bytes, length: size, isTorn } of linesOf(createReadStream(path), MOST)) {
      const entry = bytes && (isTorn ? readEntry(bytes) : entryIn(bytes));
      if (isTorn && !entry && isBeginning(bytes)) return { length, isUnended: false, isTidy };
      if (!entry) throw notAnEntry(typed, number);
      if (entry.line > MOST_LINES) throw tooFar(typed, number);
      const before = table.get(entry.line);
      isTidy &&= entry.line > last;
      last = entry.line;
      length = offset + size;
      if (before?.exitCode !== 0 || entry.exitCode === 0)
        table.set(entry.line, { file, offset, length: isTorn ? size : size - 1, ...entry });
      if (isTorn) return { length, isUnended: true, isTidy };
    }
  } catch (error) {
    if (isMissing(error)) return { length, isUnended: false, isTidy };
    throw error instanceof Failure ? error : new Failure('local', `cannot read ${typed}: ${fileReason(error)}`);
  }
  return { length, isUnended: false, isTidy };
}

// The table is held, 16 bytes a line up to the last.
const MOST_LINES = 50_000_000;

// An answer is at most 32 MiB, and text that is no JSON is longer as a string.
const MOST = 256 * 1024 * 1024;

function entryIn(bytes: Buffer): Entry | undefined {
  const [, line, exitCode, applied] = HEAD.exec(bytes.toString('latin1', 0, HEAD_BYTES)) ?? [];
  if (line !== undefined && (applied === 'no' || applied === 'yes' || applied === 'unknown'))
    return { line: Number(line), exitCode: Number(exitCode), applied };
  return readEntry(bytes);
}

// What is torn is cut away, so it has to be ours; where the power fails, files may end in zeros.
function isBeginning(bytes: Buffer | undefined): boolean {
  const begins = bytes?.toString('latin1', 0, BEGINNING.length) ?? '';
  return BEGINNING.startsWith(begins) || begins.startsWith('\0');
}

const BEGINNING = '{"line":';

function tooFar(typed: string, line: number): Failure {
  return new Failure('local', `${typed}:${line} is about a line beyond ${MOST_LINES}, and so many are not held`, {
    hint: 'remove that line, or split the input',
  });
}

function notAnEntry(typed: string, line: number): Failure {
  return new Failure('local', `${typed}:${line} is not the output of a batch`, {
    hint: 'give another file with -o, or remove that line',
  });
}
