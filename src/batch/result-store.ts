import { Buffer } from 'node:buffer';
import { stat } from 'node:fs/promises';
import { isIdempotent } from '../client/request.ts';
import { type AppliedState, Failure, usageFailure } from '../errors.ts';
import { isNotFoundError, pathExists, withFileFailure } from '../files/file-errors.ts';
import { acquireLease, type Lease, type LockRuntime } from '../files/file-lock.ts';
import { resolveSymlinks } from '../files/file-replacement.ts';
import { coalesceWrites } from '../files/journal.ts';
import type { InputLine } from '../files/split-lines.ts';
import type { Operation } from '../operations/operation.ts';
import type { Reporter } from '../output/reporter.ts';
import type { Sink } from '../output/sink.ts';
import { type BatchInput, type LineSelection, selectedLines } from './batch-input.ts';
import {
  type BatchIdentity,
  type BatchJournalState,
  batchJournalFile,
  compareRuns,
  createRunRecord,
  differentKind,
  openBatchJournal,
  readBatchJournal,
} from './batch-journal.ts';
import { formatLineRanges } from './batch-summary.ts';
import { createLineTable, type IndexedResult, type LineTable, type SentLine } from './line-table.ts';
import {
  earlierVersionFailure,
  type OutputFile,
  type OutputPath,
  type OutputState,
  openOutput,
  readOutput,
  sortOutput,
} from './output-file.ts';
import { type Checkpoint, digestInputLine } from './result-line.ts';

export interface PriorLine {
  readonly entry: IndexedResult | undefined;
  /** Set if the line may have been sent and has no result since: the time of that request, or 0 if it was lost. */
  readonly sentAtMs: number | undefined;
  /**
   * Whether earlier runs applied the line, by the first rule that matches: a result says so; the last record of its journal
   * says that it was sent; a result of a failure; neither, so it was never sent.
   */
  readonly applied: AppliedState;
}

const NEVER_SENT: PriorLine = { entry: undefined, sentAtMs: undefined, applied: 'no' };

/** True for a line that may be sent: one that was or may have been applied only if that is safe or wanted. */
export function canSendLine(
  { applied, sentAtMs }: PriorLine,
  effect: Operation['effect'],
  canRetryUnknown: boolean,
): boolean {
  if (applied === 'no' || (applied === 'unknown' && canRetryUnknown)) return true;
  // Without the time of its first request, it would be another call.
  return isIdempotent(effect) && (effect === 'read' || Boolean(sentAtMs));
}

export interface ResultStore {
  readonly isResumable: boolean;
  /** The batch as each result line names it. */
  readonly batch: Omit<Checkpoint, 'input'>;
  readonly requireHeld: Lease['requireHeld'];
  /** Throws Failure `safety_check` for a line that changed since, unless changes are accepted. */
  readonly findPrior: (line: number, digest: string) => PriorLine;
  /** The bytes of a result line of an earlier run. Throws Failure `local_file`. */
  readonly read: (entry: IndexedResult) => Promise<Buffer>;
  /** Records that a line is about to be sent. Throws Failure `local_file` if the results are no longer at their path. */
  readonly recordSending: (line: number, sent: SentLine) => Promise<void>;
  readonly recordWithdrawn: (line: number, digest: string) => Promise<void>;
  /** Records that a line changed since it was sent, and is not sent now. */
  readonly recordChanged: (line: number, digest: string) => Promise<void>;
  readonly write: (result: Uint8Array) => Promise<void>;
  /** Writes a result in place of an earlier one of this run. */
  readonly revise: (result: Uint8Array) => Promise<void>;
  /**
   * Ends the run. If the results are no longer at their path, it counts them with `onLostResults`, and throws Failure
   * `local_file`.
   */
  readonly finish: (onLostResults: (count: number) => void) => Promise<void>;
}

/** Results that go to a stream, which cannot be resumed; without one, they are dropped. */
export function createStreamStore(run: string, { operation, shard }: BatchIdentity, sink?: Sink): ResultStore {
  const doNothing = async (): Promise<void> => {};
  const write = coalesceWrites(sink?.writer.write ?? doNothing);
  return {
    isResumable: false,
    batch: { run, operation, shard },
    requireHeld: () => {},
    findPrior: () => NEVER_SENT,
    read: async () => Buffer.alloc(0),
    recordSending: doNothing,
    recordWithdrawn: doNothing,
    recordChanged: doNothing,
    write,
    revise: write,
    finish: sink?.commit ?? doNothing,
  };
}

/**
 * Opens an output for new results, and its journal before it. What they say about changed and removed lines no longer counts.
 * Throws Failure `local_file`.
 */
export async function openResultStore(
  prior: PriorResults,
  identity: BatchIdentity,
  { changedLines, removedLines }: Pick<InputDifferences, 'changedLines' | 'removedLines'>,
): Promise<ResultStore> {
  const { displayPath, run, table, isJournalLost, requireHeld } = prior;
  const journalFile = await batchJournalFile(prior);
  let output: OutputFile | undefined;
  const requireOutputAtPath = (): void => {
    requireHeld();
    if (output?.isAtPath() === false) throw replacedOutputFailure(displayPath);
  };
  const record = createRunRecord(identity, run, isJournalLost);
  const journal = await openBatchJournal(journalFile, record, prior.journal, requireOutputAtPath);
  const withdraw = async (line: number): Promise<void> => {
    const sent = table.sent(line);
    if (sent) await journal.recordWithdrawn(line, sent.digest);
    table.setSent(line, undefined);
  };
  await Promise.all(Array.from(removedLines, withdraw));
  output = await openOutput(prior, prior.output);
  const { append, read, finish, isAtPath } = output;
  // What the journal has about a changed line counts until the line is sent.
  const changed = new Map(changedLines.map((line) => [line, table.sent(line)?.digest]));
  for (const line of changed.keys()) table.setSent(line, undefined);
  const isNew = prior.output.validBytes === 0;
  // A new output keeps the order of the responses.
  let isSorted = prior.output.isSorted && removedLines.size === 0;
  let writtenLines = 0;
  return {
    isResumable: true,
    batch: { run, operation: identity.operation, shard: identity.shard },
    requireHeld,
    findPrior: (line, digest) => {
      const [result, sent] = [table.result(line), table.sent(line)];
      const known = sent?.digest ?? (changed.has(line) ? undefined : result?.digest);
      if (known !== undefined && known !== digest) throw changedLineFailure(line, displayPath);
      const entry = result?.digest === digest ? result : undefined;
      const sentAtMs = sent?.timestampMs ?? (isJournalLost && !result ? 0 : undefined);
      const applied = entry?.applied === 'yes' || sentAtMs === undefined ? (entry?.applied ?? 'no') : 'unknown';
      return { entry, sentAtMs, applied };
    },
    read,
    recordSending: (line, sent) => journal.recordSending(line, sent, changed.get(line)),
    recordWithdrawn: journal.recordWithdrawn,
    recordChanged: async (line, digest) => {
      const replacedDigest = changed.get(line);
      if (replacedDigest !== undefined) await journal.recordWithdrawn(line, digest, replacedDigest);
    },
    write: async (result) => {
      requireHeld();
      writtenLines += 1;
      isSorted &&= isNew;
      return append(result);
    },
    revise: (result) => {
      isSorted = false;
      return append(result);
    },
    finish: async (onLostResults) => {
      const isPresent = isAtPath();
      await finish();
      await journal.close();
      if (!isPresent) {
        onLostResults(writtenLines);
        throw replacedOutputFailure(displayPath);
      }
      if (isSorted) return;
      const finalTable = createLineTable();
      await readBatchJournal(journalFile, finalTable);
      await sortOutput(prior, finalTable, removedLines, requireHeld);
    },
  };
}

function replacedOutputFailure(displayPath: string): Failure {
  return new Failure('local_file', `${displayPath} was removed or replaced while the batch was running`, {
    hint: `lines that were sent are recorded in ${displayPath}.journal; restore the output, then continue with --resume`,
  });
}

function changedLineFailure(line: number, displayPath: string): Failure {
  const message = `line ${line} changed while the batch was running; its result is in ${displayPath}`;
  const hint = 'restore the line, or resume with --accept-changes';
  return new Failure('safety_check', message, { hint, applied: 'no' });
}

/** What output and journal of earlier runs say; the output is locked against other processes. */
export interface PriorResults extends OutputPath, Lease {
  /** The id of the run, a UUID; the same when a run is resumed. */
  readonly run: string;
  readonly table: LineTable;
  readonly output: OutputState;
  readonly journal: BatchJournalState | undefined;
  /** Records of earlier runs were lost: any line without a result may have been sent. */
  readonly isJournalLost: boolean;
}

interface OutputUse {
  readonly identity: BatchIdentity;
  /** The id of the run, if it is a new one. */
  readonly newRun: string;
  readonly isResumed: boolean;
  /** Changed input lines, and other flags, are wanted. */
  readonly canAcceptChanges: boolean;
  /** See acquireLease. */
  readonly takeOverMs?: number | undefined;
}

/**
 * Locks an output and reads it and its journal; the caller releases the lock. Throws Failure `safety_check` for an output that another process uses, that has
 * hard links, or that belongs to another batch or an earlier version, and usage for one that exists without `--resume`.
 */
export async function openPriorResults(
  output: OutputPath,
  use: OutputUse,
  runtime: LockRuntime,
  { warn }: Pick<Reporter, 'warn'>,
): Promise<PriorResults> {
  const { lease, ...target } = await lockOutput(output, runtime, use.takeOverMs);
  try {
    await rejectUnusableFile(target);
    if (!use.isResumed) await rejectExistingResults(target);
    return await readPriorResults(target, use, lease, warn);
  } catch (error) {
    await lease.release();
    throw error;
  }
}

/** Locks a file that a batch may write, and resolves its links. Throws Failure `safety_check` for one that another process uses. */
export async function lockOutput(
  { path, displayPath }: OutputPath,
  runtime: LockRuntime,
  takeOverMs?: number,
): Promise<OutputPath & { readonly lease: Lease }> {
  const target = await withFileFailure(`write ${displayPath}`, () => resolveSymlinks(path));
  const shownPath = target === path ? displayPath : target;
  const lease = await acquireLease(target, shownPath, runtime, takeOverMs);
  return { path: target, displayPath: shownPath, lease };
}

async function readPriorResults(
  target: OutputPath,
  { identity, newRun, canAcceptChanges }: OutputUse,
  lease: Lease,
  warn: Reporter['warn'],
): Promise<PriorResults> {
  const { displayPath } = target;
  for (const suffix of EARLIER_SUFFIXES)
    if (await pathExists(target.path + suffix))
      throw earlierVersionFailure(displayPath + suffix, `the record of a batch is in ${displayPath}.journal now`);
  const table = createLineTable();
  const journal = await readBatchJournal(await batchJournalFile(target), table);
  const output = await readOutput(target, 0, table);
  const earlierRuns = journal?.runs ?? [];
  const kinds = [...earlierRuns, ...output.checkpoints];
  const [otherKind] = kinds.flatMap((kind) => differentKind(kind, identity) ?? []);
  if (otherKind !== undefined) throw otherBatchFailure(displayPath, [otherKind], false);
  const [run = newRun, ...otherRuns] = new Set(kinds.map((kind) => kind.run));
  if (otherRuns.length > 0)
    throw otherBatchFailure(displayPath, ['its results and its journal are of different runs'], false);
  const differences = compareRuns(earlierRuns, identity);
  if (differences.length > 0 && !canAcceptChanges) throw otherBatchFailure(displayPath, differences, true);
  const isJournalLost =
    earlierRuns.some((record) => record.isJournalLost) || (output.exists && isJournalIncomplete(earlierRuns, table));
  if (isJournalLost || table.lastLine() > 0) {
    const hasNoResult = table.lines().next().done;
    const outputState = output.exists ? 'has no complete result' : 'is missing';
    const journalState = journal ? 'lacks records of earlier runs' : 'is missing';
    if (hasNoResult)
      await warn(
        `${displayPath} ${outputState}; its lines may have been applied (to start over, delete it and ${displayPath}.journal)`,
      );
    else if (isJournalLost)
      await warn(`${displayPath}.journal ${journalState}; lines without a result may have been applied`);
  }
  return { ...target, run, table, output, journal, isJournalLost, ...lease };
}

const EARLIER_SUFFIXES = ['.inflight', '.intents'];

// A run creates its journal before its output, and records each line before it has a result.
function isJournalIncomplete(runs: BatchJournalState['runs'], table: LineTable): boolean {
  if (runs.length === 0) return true;
  for (const line of table.lines())
    if (table.result(line)?.applied !== 'no' && table.recordedDigest(line) === undefined) return true;
  return false;
}

function otherBatchFailure(displayPath: string, reasons: readonly string[], isAcceptable: boolean): Failure {
  const change = isAcceptable ? 'use the same flags and profile, ' : '';
  const accept = isAcceptable ? ', or resume with --accept-changes' : '';
  return new Failure('safety_check', `${displayPath} belongs to another batch: ${reasons.join('; ')}`, {
    hint: `${change}choose another file with -o${accept}`,
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
  if (!found?.isFile() || found.nlink === 1) return;
  const message = `${displayPath} has ${found.nlink} names (hard links), so another batch could use it`;
  throw new Failure('safety_check', message, { hint: 'choose another file with -o', applied: 'no' });
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
  const changed = changedLines.length > 0 ? [`changed lines: ${formatLineRanges(changedLines)}`] : [];
  const removed = removedLines.size > 0 ? [`removed lines: ${formatLineRanges(removedLines)}`] : [];
  const parts = [...changed, ...removed];
  const message = `${label} is not the input that ${results} was made from: ${parts.join('; ')}`;
  return new Failure('safety_check', message, { hint, applied: 'no' });
}
