import type { Buffer } from 'node:buffer';
import { createReadStream } from 'node:fs';
import { Failure } from '../errors.ts';
import { fileFailure, isNotFoundError } from '../files/file-errors.ts';
import type { LineIndex } from './line-index.ts';
import { parseResultEntry, type ResultEntry } from './parse-result-entry.ts';
import { CHECK_OFFSET_FROM_END, completionCheck, isSealedLine, readSeal } from './seal.ts';
import { splitLines } from './split-lines.ts';

/** The state of a checkpoint file. */
export interface CheckpointState {
  /** Bytes of complete result lines; the rest was torn. */
  readonly validBytes: number;
  /** The last result line lacks its line feed. */
  readonly isUnterminated: boolean;
  /** One result per line, in the order of the lines. */
  readonly isCompact: boolean;
  /** The `run` and `settings` members of the result lines, each once. */
  readonly stamps: ReadonlySet<string>;
  /** Some result lines have no digest of their input: svc 0.1 wrote them. */
  readonly hasLegacyEntries: boolean;
  /** The mark of a completed run; undefined for a run that was stopped. */
  readonly completion: CompletionMark | undefined;
  /** The run was completed, and result lines were removed since. */
  readonly hasMissingEntries: boolean;
  /** Lines whose input differs from that of a result in an earlier file; the results of that file stay in the index. */
  readonly otherInputLines: ReadonlySet<number>;
}

/** Where the check of the last result line of a completed run is, and the check it has without the mark. */
export interface CompletionMark {
  readonly offset: number;
  readonly plainCheck: number;
}

/** A result line whose check differs from its bytes: the mark of a completed run, or damage. */
interface Mismatch extends CompletionMark {
  readonly fileLine: number;
  readonly check: number;
}

// The beginning of a result line as svc writes it holds all that is needed; the rest need not be parsed.
const ENTRY_HEAD =
  /^\{"line":(\d{1,15}),"id":(?:null|-?[\d.eE+-]+|"(?:[^"\\]|\\.)*"),"status":(?:null|\d+),"exit_code":(\d{1,3}),"applied":"(no|yes|unknown)",/;
const MAX_ENTRY_HEAD_BYTES = 1024;

/**
 * Reads a checkpoint file into an index, as file `fileIndex`. Of two results for the same input the later one counts, but
 * a failure does not replace a success, unless the same file has the success and then says that the outcome is unknown.
 * A missing file is empty. Throws Failure `local` for a file that is not a checkpoint, and `guard` for a damaged one.
 */
export async function readCheckpoint(
  path: string,
  displayPath: string,
  fileIndex: number,
  lineIndex: LineIndex,
): Promise<CheckpointState> {
  const stamps = new Set<string>();
  const mismatches: Mismatch[] = [];
  const otherInputLines = new Set<number>();
  let lastStamp: string | undefined;
  let hasLegacyEntries = false;
  let validBytes = 0;
  let isCompact = true;
  let isUnterminated = false;
  let previousLine = 0;
  let lineCount = 0;
  let fileLineCount = 0;
  try {
    for await (const { number, offset, bytes, length: lineBytes, isTorn } of splitLines(
      createReadStream(path),
      MAX_ENTRY_BYTES,
    )) {
      const entry = bytes && (isTorn ? parseResultEntry(bytes) : parseEntryHead(bytes));
      if (isTorn && !entry && isPartialEntry(bytes)) {
        // A torn line never has a byte after its end: its line feed was changed.
        if (bytes && readSeal(bytes.subarray(0, -1))) throw damagedEntryFailure(displayPath, number);
        break;
      }
      if (!bytes || !entry) throw invalidEntryFailure(displayPath, number);
      if (entry.line > MAX_LINES) throw lineLimitFailure(displayPath, number);
      const seal = readSeal(bytes);
      if (!seal && isSealedLine(bytes)) throw damagedEntryFailure(displayPath, number);
      if (!seal) hasLegacyEntries = true;
      else if (seal.check !== seal.expectedCheck) {
        const position = offset + bytes.length - CHECK_OFFSET_FROM_END;
        mismatches.push({ fileLine: number, offset: position, plainCheck: seal.expectedCheck, check: seal.check });
        if (mismatches.length > 1) throw damagedEntryFailure(displayPath, mismatches[0]?.fileLine ?? number);
      }
      if (seal && seal.stamp !== lastStamp) stamps.add(seal.stamp);
      lastStamp = seal?.stamp;
      fileLineCount = number;
      const digest = seal?.digest;
      const earlier = lineIndex.get(entry.line);
      const isFirstOfFile = earlier?.fileIndex !== fileIndex;
      if (isFirstOfFile) lineCount += 1;
      const isOtherInput =
        isFirstOfFile && earlier?.digest !== undefined && digest !== undefined && earlier.digest !== digest;
      // A resumed run with --accept-changes may have a later result for the same input.
      if (isOtherInput) otherInputLines.add(entry.line);
      else otherInputLines.delete(entry.line);
      isCompact &&= entry.line > previousLine;
      previousLine = entry.line;
      validBytes = offset + lineBytes;
      const isRevised = entry.applied === 'unknown' && earlier?.fileIndex === fileIndex;
      const isReplacing = isRevised || earlier?.exitCode !== 0 || entry.exitCode === 0 || earlier.digest !== digest;
      if (isReplacing && !isOtherInput)
        lineIndex.set(entry.line, { fileIndex, offset, length: bytes.length, ...entry, digest });
      isUnterminated = isTorn;
    }
  } catch (error) {
    if (!isNotFoundError(error)) throw fileFailure(`read ${displayPath}`, error);
  }
  const [mismatch] = mismatches;
  const isMarkLast = mismatch?.fileLine === fileLineCount;
  const markedLines = mismatch && countMarkedLines(mismatch, lineCount, isMarkLast ? MAX_MISSING_LINES : 0);
  if (mismatch && markedLines === undefined) throw damagedEntryFailure(displayPath, mismatch.fileLine);
  const hasMissingEntries = markedLines !== undefined && markedLines !== lineCount;
  return {
    validBytes,
    isUnterminated,
    isCompact,
    stamps,
    hasLegacyEntries,
    completion: mismatch,
    hasMissingEntries,
    otherInputLines,
  };
}

// The index holds 24 bytes per line, up to the last.
const MAX_LINES = 50_000_000;

/** The largest result line: a response has up to 32 MiB, and as a JSON string text is longer. */
export const MAX_ENTRY_BYTES = 256 * 1024 * 1024;

function parseEntryHead(bytes: Buffer): ResultEntry | undefined {
  const [, line, exitCode, applied] = ENTRY_HEAD.exec(bytes.toString('latin1', 0, MAX_ENTRY_HEAD_BYTES)) ?? [];
  if (line !== undefined && (applied === 'no' || applied === 'yes' || applied === 'unknown'))
    return { line: Number(line), exitCode: Number(exitCode), applied };
  return parseResultEntry(bytes);
}

// Only what svc wrote is cut off; after a power failure a file may end in zeros.
function isPartialEntry(bytes: Buffer | undefined): boolean {
  const start = bytes?.toString('latin1', 0, ENTRY_PREFIX.length) ?? '';
  return ENTRY_PREFIX.startsWith(start) || start.startsWith('\0');
}

const ENTRY_PREFIX = '{"line":';

// How many lines the file had when its run was completed; undefined if the check is damaged instead. A damaged
// check could match any number that is tried, so only a few are.
function countMarkedLines(
  { plainCheck, check }: Mismatch,
  lineCount: number,
  maxMissingLines: number,
): number | undefined {
  for (let missing = 0; missing <= maxMissingLines; missing += 1)
    if (completionCheck(plainCheck, lineCount + missing) === check) return lineCount + missing;
  return undefined;
}

const MAX_MISSING_LINES = 10_000;

function lineLimitFailure(displayPath: string, line: number): Failure {
  return new Failure('local', `${displayPath}:${line} has a line number above ${MAX_LINES}, the limit of a batch`, {
    hint: 'remove that line, or split the input',
  });
}

function invalidEntryFailure(displayPath: string, line: number): Failure {
  return new Failure('local', `${displayPath}:${line} is not a result of a batch`, {
    hint: 'use the output file of --batch, or remove that line',
  });
}

function damagedEntryFailure(displayPath: string, line: number): Failure {
  return new Failure('guard', `${displayPath}:${line} is damaged: its checksum does not match`, {
    hint: 'restore the file from a copy; without that line, its input line counts as unknown',
    applied: 'no',
  });
}
