import { stat } from 'node:fs/promises';
import { Failure, usageFailure } from '../errors.ts';
import { isNotFoundError, pathExists, withFileFailure } from '../files/file-errors.ts';
import { acquireLock, type LockRuntime, type Unlock } from '../files/file-lock.ts';
import { resolveSymlinks } from '../files/file-replacement.ts';
import type { InputLine } from '../files/split-lines.ts';
import { pluralize } from '../json/pluralize.ts';
import type { Reporter } from '../output/reporter.ts';
import { type BatchInput, type LineSelection, selectedLines } from './batch-input.ts';
import {
  type BatchIdentity,
  type BatchJournalState,
  batchJournalFile,
  compareRuns,
  differentKind,
  narrowedSelection,
  readBatchJournal,
} from './batch-journal.ts';
import { formatLineRanges } from './batch-summary.ts';
import { createLineTable, type LineTable } from './line-table.ts';
import { earlierVersionFailure, type OutputPath, type OutputState, readOutput } from './output-file.ts';
import { digestInputLine } from './result-line.ts';

/** What output and journal of earlier runs say; the output is locked against other processes. */
export interface PriorResults extends OutputPath {
  /** The id of the run, a UUID; the same when a run is resumed. */
  readonly run: string;
  readonly table: LineTable;
  /** Undefined if there is no output. */
  readonly output: OutputState | undefined;
  readonly journal: BatchJournalState | undefined;
  /** Records of earlier runs were lost: any line without a result may have been sent. */
  readonly isJournalLost: boolean;
  readonly release: Unlock;
}

/** The permitted use of an output. */
interface OutputUse {
  readonly identity: BatchIdentity;
  /** The id of the run, if it is a new one. */
  readonly newRun: string;
  readonly isResumed: boolean;
  /** Changed input lines, and other flags, are wanted. */
  readonly canAcceptChanges: boolean;
}

/**
 * Locks an output and reads it and its journal. Throws Failure `safety_check` for an output that another process uses, that has
 * hard links, or that belongs to another batch or an earlier version, and usage for one that exists without `--resume`.
 */
export async function openPriorResults(
  output: OutputPath,
  use: OutputUse,
  runtime: LockRuntime,
  { warn }: Pick<Reporter, 'warn'>,
): Promise<PriorResults> {
  const { release, ...target } = await lockOutput(output, runtime);
  try {
    await rejectUnusableFile(target);
    if (!use.isResumed) await rejectExistingResults(target);
    return await readPriorResults(target, use, release, warn);
  } catch (error) {
    await release();
    throw error;
  }
}

/** Locks a file that a batch may write, and resolves its links. Throws Failure `safety_check` for one that another process uses. */
export async function lockOutput(
  { path, displayPath }: OutputPath,
  runtime: LockRuntime,
): Promise<OutputPath & { readonly release: Unlock }> {
  const target = await withFileFailure(`write ${displayPath}`, () => resolveSymlinks(path));
  const shownPath = target === path ? displayPath : target;
  return {
    path: target,
    displayPath: shownPath,
    release: await acquireLock(target, shownPath, runtime, 0, 'safety_check'),
  };
}

async function readPriorResults(
  target: OutputPath,
  { identity, newRun, canAcceptChanges }: OutputUse,
  release: Unlock,
  warn: Reporter['warn'],
): Promise<PriorResults> {
  const { displayPath } = target;
  for (const suffix of EARLIER_SUFFIXES)
    if (await pathExists(target.path + suffix))
      throw earlierVersionFailure(displayPath + suffix, `the record of a batch is in ${displayPath}.journal now`);
  const table = createLineTable();
  const journal = await readBatchJournal(await batchJournalFile(target), table);
  const output = await readOutput(target, 0, table);
  const runs = new Set([...(journal?.runs ?? []), ...(output?.checkpoints ?? [])].map(({ run }) => run));
  const kinds = [...(journal?.runs ?? []), ...(output?.checkpoints ?? [])];
  const [otherKind] = kinds.flatMap((kind) => differentKind(kind, identity) ?? []);
  if (otherKind !== undefined) throw otherBatchFailure(displayPath, [otherKind], false);
  if (runs.size > 1) throw otherBatchFailure(displayPath, ['its results and its journal are of different runs'], false);
  const narrowed = narrowedSelection(journal?.runs ?? [], identity.selection);
  const differences = [...compareRuns(journal?.runs ?? [], identity), ...(narrowed === undefined ? [] : [narrowed])];
  if (differences.length > 0 && !canAcceptChanges) throw otherBatchFailure(displayPath, differences, true);
  const [run = newRun] = runs;
  const wasJournalLost = journal?.runs.some(({ isJournalLost }) => isJournalLost) ?? false;
  const isJournalLost = wasJournalLost || (output !== undefined && isJournalIncomplete(journal, table));
  const warning = lossWarning(target, table, output, journal, isJournalLost);
  if (warning !== undefined) await warn(warning);
  return { ...target, run, table, output, journal, isJournalLost, release };
}

const EARLIER_SUFFIXES = ['.inflight', '.intents'];

// A run creates its journal before its output, and records each line before it has a result.
function isJournalIncomplete(journal: BatchJournalState | undefined, table: LineTable): boolean {
  if (!journal || journal.runs.length === 0) return true;
  for (const line of table.lines())
    if (table.result(line)?.applied !== 'no' && table.recordedDigest(line) === undefined) return true;
  return false;
}

function lossWarning(
  { displayPath }: OutputPath,
  table: LineTable,
  output: OutputState | undefined,
  journal: BatchJournalState | undefined,
  isJournalLost: boolean,
): string | undefined {
  if (table.size() === 0 && (table.lastLine() > 0 || (output && isJournalLost))) {
    const state = !output ? 'is missing' : output.isEmpty ? 'is empty' : 'has no complete result';
    return `${displayPath} ${state}; its lines may have been applied (to start over, delete it and ${displayPath}.journal)`;
  }
  if (!isJournalLost) return undefined;
  const state = journal ? 'lacks records of earlier runs' : 'is missing';
  return `${displayPath}.journal ${state}; lines without a result may have been applied`;
}

function otherBatchFailure(displayPath: string, reasons: readonly string[], isAcceptable: boolean): Failure {
  return new Failure('safety_check', `${displayPath} belongs to another batch: ${reasons.join('; ')}`, {
    hint: isAcceptable
      ? 'use the same flags and profile, choose another file with -o, or resume with --accept-changes'
      : 'choose another file with -o',
    applied: 'no',
  });
}

async function rejectUnusableFile({ path, displayPath }: OutputPath): Promise<void> {
  const found = await stat(path).catch((error: unknown) => {
    if (isNotFoundError(error)) return undefined;
    throw error;
  });
  if (found?.isDirectory())
    throw new Failure('local_file', `cannot write ${displayPath}: it is a directory`, { applied: 'no' });
  if (found?.isFile() && found.nlink > 1)
    throw new Failure(
      'safety_check',
      `${displayPath} has ${found.nlink} names (hard links), so another batch could use it`,
      {
        hint: 'choose another file with -o',
        applied: 'no',
      },
    );
}

async function rejectExistingResults({ path, displayPath }: OutputPath): Promise<void> {
  for (const suffix of ['', '.journal'])
    if (await pathExists(path + suffix))
      throw usageFailure(
        `${displayPath}${suffix} already exists`,
        `use --resume to continue that run, ${suffix && 'delete it to start over, '}or choose another file with -o`,
      );
}

/** The differences between an input and what outputs and journals say about its lines. */
export interface InputDifferences {
  readonly changedLines: readonly number[];
  /** Lines that have a result or a record, and are empty or beyond the end of the input. */
  readonly removedLines: ReadonlySet<number>;
  readonly emptyLines: ReadonlySet<number>;
  readonly lastLine: number;
}

/** Compares the lines of an input with the digests that are known; lines after them are no difference. */
export async function findInputDifferences(
  input: BatchInput,
  selection: LineSelection,
  table: LineTable,
): Promise<InputDifferences> {
  const changedLines: number[] = [];
  const emptyLines = new Set<number>();
  let lastLine = 0;
  let isReadToEnd = false;
  const readAll = async function* (): AsyncGenerator<InputLine> {
    for await (const line of input.lines) {
      lastLine = line.number;
      yield line;
    }
    isReadToEnd = true;
  };
  const onEmpty = ({ number }: InputLine): void => void emptyLines.add(number);
  for await (const line of selectedLines({ lines: readAll() }, selection, { onEmpty })) {
    const known = table.sent(line.number)?.digest ?? table.result(line.number)?.digest;
    if (known !== undefined && known !== digestInputLine(line)) changedLines.push(line.number);
  }
  const removedLines = new Set<number>();
  // A selection may end early; the lines after it are still there.
  for (const line of table.knownLines())
    if ((isReadToEnd && line > lastLine) || emptyLines.has(line)) removedLines.add(line);
  return { changedLines, removedLines, emptyLines, lastLine };
}

/** The Failure `safety_check` of an input that does not match the results; undefined without differences. */
export function otherInputFailure(
  { changedLines, removedLines }: InputDifferences,
  label: string,
  results: string,
  hint: string,
): Failure | undefined {
  if (changedLines.length + removedLines.size === 0) return undefined;
  const parts = [
    ...(changedLines.length > 0 ? [`changed lines: ${formatLineRanges(changedLines)}`] : []),
    ...(removedLines.size > 0 ? [`removed lines: ${formatLineRanges(removedLines)}`] : []),
  ];
  const message = `${label} is not the input that ${results} was made from: ${parts.join('; ')}`;
  return new Failure('safety_check', message, { hint, applied: 'no' });
}

/** The warning about results that `--accept-changes` removes; undefined if it removes none. */
export function removedResultsWarning(
  removedLines: ReadonlySet<number>,
  label: string,
  table: LineTable,
  displayPath: string,
): string | undefined {
  const lines = [...removedLines].filter((line) => table.result(line));
  const count = lines.length;
  if (count === 0) return undefined;
  const results = `${count} ${pluralize(count, 'result')} from ${displayPath}`;
  return `--accept-changes removes ${results}: ${pluralize(count, 'line')} ${formatLineRanges(lines)} ${pluralize(count, 'is', 'are')} no longer in ${label}`;
}
