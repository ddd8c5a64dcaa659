import type { Buffer } from 'node:buffer';
import { createReadStream } from 'node:fs';
import { Failure } from '../errors.ts';
import { describeFileError, isNotFoundError } from '../files/file-errors.ts';
import type { LineIndex } from './line-index.ts';
import { parseResultEntry, type ResultEntry } from './result-entry.ts';
import { splitLines } from './split-lines.ts';

/** What a journal held. */
export interface CheckpointState {
  /** Bytes of it that are whole entries; what follows was torn. */
  readonly validBytes: number;
  /** Its last entry lacks its line end. */
  readonly isUnterminated: boolean;
  /** Entries that are superseded by another one about the same line, or do not stand in the order of the lines. */
  readonly isCompact: boolean;
}

// Where the beginning of an entry as we write it tells what has to be known, the rest of it need not be read.
const ENTRY_HEAD =
  /^\{"line":(\d{1,15}),"id":(?:null|"(?:[^"\\]|\\.)*"),"status":(?:null|\d+),"exit_code":(\d{1,3}),"applied":"(no|yes|unknown)",/;
const MAX_ENTRY_HEAD_BYTES = 1024;

/**
 * Reads a journal into a table, as its `file`-th. Of two entries about a line the later one counts, but none that failed
 * stands for one that did not. One that is not there is empty. Throws Failure `local` for what is no journal.
 */
export async function readCheckpoint(
  path: string,
  displayPath: string,
  fileIndex: number,
  lineIndex: LineIndex,
): Promise<CheckpointState> {
  let validBytes = 0;
  let isCompact = true;
  let previousLine = 0;
  try {
    for await (const { number, offset, bytes, length: lineBytes, isTorn } of splitLines(
      createReadStream(path),
      MAX_ENTRY_BYTES,
    )) {
      const entry = bytes && (isTorn ? parseResultEntry(bytes) : parseEntryHead(bytes));
      if (isTorn && !entry && isPartialEntry(bytes)) return { validBytes, isUnterminated: false, isCompact };
      if (!entry) throw invalidEntryFailure(displayPath, number);
      if (entry.line > MAX_LINES) throw lineLimitFailure(displayPath, number);
      const earlier = lineIndex.get(entry.line);
      isCompact &&= entry.line > previousLine;
      previousLine = entry.line;
      validBytes = offset + lineBytes;
      if (earlier?.exitCode !== 0 || entry.exitCode === 0)
        lineIndex.set(entry.line, { fileIndex, offset, length: isTorn ? lineBytes : lineBytes - 1, ...entry });
      if (isTorn) return { validBytes, isUnterminated: true, isCompact };
    }
  } catch (error) {
    if (isNotFoundError(error)) return { validBytes, isUnterminated: false, isCompact };
    throw error instanceof Failure
      ? error
      : new Failure('local', `cannot read ${displayPath}: ${describeFileError(error)}`);
  }
  return { validBytes, isUnterminated: false, isCompact };
}

// The table is held, 16 bytes a line up to the last.
const MAX_LINES = 50_000_000;

// An answer is at most 32 MiB, and text that is no JSON is longer as a string.
const MAX_ENTRY_BYTES = 256 * 1024 * 1024;

function parseEntryHead(bytes: Buffer): ResultEntry | undefined {
  const [, line, exitCode, applied] = ENTRY_HEAD.exec(bytes.toString('latin1', 0, MAX_ENTRY_HEAD_BYTES)) ?? [];
  if (line !== undefined && (applied === 'no' || applied === 'yes' || applied === 'unknown'))
    return { line: Number(line), exitCode: Number(exitCode), applied };
  return parseResultEntry(bytes);
}

// What is torn is cut away, so it has to be ours; where the power fails, files may end in zeros.
function isPartialEntry(bytes: Buffer | undefined): boolean {
  const start = bytes?.toString('latin1', 0, ENTRY_PREFIX.length) ?? '';
  return ENTRY_PREFIX.startsWith(start) || start.startsWith('\0');
}

const ENTRY_PREFIX = '{"line":';

function lineLimitFailure(displayPath: string, line: number): Failure {
  return new Failure('local', `${displayPath}:${line} is about a line beyond ${MAX_LINES}, and so many are not held`, {
    hint: 'remove that line, or split the input',
  });
}

function invalidEntryFailure(displayPath: string, line: number): Failure {
  return new Failure('local', `${displayPath}:${line} is not the output of a batch`, {
    hint: 'give another file with -o, or remove that line',
  });
}
