import { Buffer } from 'node:buffer';
import { stat } from 'node:fs/promises';
import { isIdempotent } from '../../client/request.ts';
import { type AppliedState, Failure, safetyFailure, usageFailure } from '../../errors.ts';
import { pathExists, withFileFailure } from '../../files/file-errors.ts';
import { acquireLease, type Lease, type LeaseOptions, type LockRuntime } from '../../files/file-lock.ts';
import { rejectDirectoryName, resolveSymlinks } from '../../files/file-replacement.ts';
import { coalesceWrites } from '../../files/journal.ts';
import { formatLineRanges, type InputLine } from '../../files/split-lines.ts';
import type { Operation } from '../../operations/operation.ts';
import type { Reporter } from '../../output/reporter.ts';
import type { Sink } from '../../output/sink.ts';
import type { BatchOptions } from '../batch-options.ts';
import { type BatchInput, isInShard, type LineSelection, selectedLines } from '../read/batch-input.ts';
import {
  type BatchIdentity,
  batchJournalFile,
  compareRuns,
  createRunRecord,
  type LineCounts,
  openBatchJournal,
  readBatchJournal,
} from './batch-journal.ts';
import { createLineTable, type IndexedResult, type LineTable, type SentLine } from './line-table.ts';
import {
  earlierVersionFailure,
  type OutputFile,
  type OutputPath,
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

/** Where the results of a run go, and what earlier runs left there. */
export interface ResultStore {
  readonly isResumable: boolean;
  readonly batch: Omit<Checkpoint, 'input'>;
  /** Throws Failure `safety_check` if another process may have taken the lock. */
  readonly requireHeld: () => void;
  /** Throws Failure `safety_check` for a line that changed since, unless changes are accepted. */
  readonly findPrior: (line: number, digest: string) => PriorLine;
  readonly read: (result: IndexedResult) => Promise<Buffer>;
  /** Throws Failure `local_file` if the results are no longer at their path. */
  readonly recordSending: (line: number, sent: SentLine) => Promise<void>;
  readonly recordWithdrawn: (line: number, digest: string) => Promise<void>;
  /** Records that a line changed since it was sent, and is not sent now. */
  readonly recordChanged: (line: number, digest: string) => Promise<void>;
  readonly write: (result: Uint8Array) => Promise<void>;
  /** Writes a result in place of an earlier one of this run. */
  readonly revise: (result: Uint8Array) => Promise<void>;
  /** Ends the run; without counts, its input was not read to the end. If the results are no longer at their path, counts them, and throws. */
  readonly finish: (onLostResults: (count: number) => void, counts?: LineCounts) => Promise<void>;
}

/** Results that go to a stream, which cannot be resumed; without one, they are dropped. */
export function createStreamStore(batch: Omit<Checkpoint, 'input'>, sink?: Sink): ResultStore {
  const doNothing = async (): Promise<void> => {};
  const write = coalesceWrites(sink?.writer.write ?? doNothing);
  return {
    isResumable: false,
    batch,
    requireHeld: () => {},
    findPrior: () => ({ entry: undefined, sentAtMs: undefined, applied: 'no' }),
    read: async () => Buffer.alloc(0),
    recordSending: doNothing,
    recordWithdrawn: doNothing,
    recordChanged: doNothing,
    write,
    revise: write,
    finish: async () => sink?.commit(),
  };
}

/** Opens an output and its journal, of which changed and removed lines no longer count. Throws Failure `local_file`. */
export async function openResultStore(
  prior: PriorResults,
  identity: BatchIdentity,
  { changedLines, removedLines }: InputDifferences,
): Promise<ResultStore> {
  const { displayPath, run, table, journalFile, requireHeld, requireAtPath } = prior;
  let output: OutputFile | undefined;
  const requireOutputAtPath = (): void => {
    requireAtPath();
    if (output?.isAtPath() === false) throw replacedOutputFailure(displayPath);
  };
  const record = createRunRecord(identity, run, prior.isJournalLost);
  const journal = await openBatchJournal(journalFile, record, prior.journal, requireOutputAtPath);
  const sentDigest = (line: number): string | undefined => table.sent(line)?.digest;
  await Promise.all(Array.from(removedLines, (line) => journal.recordWithdrawn(line, sentDigest(line))));
  output = await openOutput(prior, prior.output, requireAtPath);
  const { append, read, finish, isAtPath } = output;
  // What the journal has about a changed line counts until the line is sent.
  const changed = new Map(changedLines.map((line) => [line, sentDigest(line)]));
  for (const line of [...changedLines, ...removedLines]) table.setSent(line, undefined);
  const isNew = prior.output.validBytes === 0;
  // A new output keeps the order of the responses.
  let isSorted = prior.output.isSorted && removedLines.size === 0;
  let writtenLines = 0;
  return {
    isResumable: true,
    batch: { run, operation: identity.operation, shard: identity.shard },
    requireHeld,
    findPrior: (line, digest) => findPriorLine(prior, changed.has(line), line, digest),
    read,
    recordSending: (line, sent) => journal.recordSending(line, sent, changed.get(line)),
    recordWithdrawn: (line, digest) => journal.recordWithdrawn(line, digest),
    recordChanged: (line, digest) => journal.recordWithdrawn(line, changed.get(line) && digest, changed.get(line)),
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
    finish: async (onLostResults, counts) => {
      const isPresent = isAtPath();
      await finish();
      if (isPresent && counts) await journal.recordCounts(counts);
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

function findPriorLine(
  { table, isJournalLost, displayPath }: PriorResults,
  isChanged: boolean,
  line: number,
  digest: string,
): PriorLine {
  const [result, sent] = [table.result(line), table.sent(line)];
  const known = sent?.digest ?? (isChanged ? undefined : result?.digest);
  if (known !== undefined && known !== digest) {
    const message = `line ${line} changed while the batch was running; its result is in ${displayPath}`;
    const hint = 'restore the line, or resume with --accept-changes';
    throw safetyFailure('changed_input', message, { hint });
  }
  const entry = result?.digest === digest ? result : undefined;
  const sentAtMs = sent?.timestampMs ?? (isJournalLost && !result ? 0 : undefined);
  const applied = entry?.applied === 'yes' || sentAtMs === undefined ? (entry?.applied ?? 'no') : 'unknown';
  return { entry, sentAtMs, applied };
}

function replacedOutputFailure(displayPath: string): Failure {
  return new Failure('local_file', `${displayPath} was removed or replaced while the batch was running`, {
    hint: `lines that were sent are recorded in ${displayPath}.journal; restore the output, then continue with --resume`,
  });
}

export type PriorResults = Awaited<ReturnType<typeof openPriorResults>>;

/**
 * Locks an output, which the caller releases, and reads it and its journal. Throws Failure `safety_check` for one that is in use,
 * has hard links, or belongs to another batch or an earlier version, and usage for one that exists without `--resume`.
 */
export async function openPriorResults(
  file: OutputPath,
  identity: BatchIdentity,
  newRun: string,
  { isResumed, canAcceptChanges, takeOverMs }: Pick<BatchOptions, 'isResumed' | 'canAcceptChanges' | 'takeOverMs'>,
  runtime: LockRuntime,
  { warn }: Pick<Reporter, 'warn'>,
) {
  const { lease, ...target } = await lockOutput(file, runtime, { isResumed, takeOverMs, warn });
  try {
    await rejectUnusableFiles(target, isResumed);
    const { displayPath } = target;
    const table = createLineTable();
    const journalFile = await batchJournalFile(target);
    const journal = await readBatchJournal(journalFile, table);
    const output = await readOutput(target, 0, table);
    const earlierRuns = journal?.runs ?? [];
    const kinds = [...earlierRuns, ...output.checkpoints];
    const [otherKind] = kinds.flatMap(({ operation, shard }) => {
      if (operation !== identity.operation) return [`it holds results of ${operation}, not ${identity.operation}`];
      return shard === identity.shard ? [] : [`it holds results of shard ${shard}, not ${identity.shard}`];
    });
    const [run = newRun, otherRun] = new Set(kinds.map((kind) => kind.run));
    const otherBatch = otherKind ?? (otherRun && 'its results and its journal are of different runs');
    const differences = canAcceptChanges ? '' : compareRuns(earlierRuns, identity).join('; ');
    if (otherBatch !== undefined || differences !== '') {
      const acceptHint = 'use the same flags and profile, choose another file with -o, or resume with --accept-changes';
      const hint = otherBatch === undefined ? acceptHint : 'choose another file with -o';
      const message = `${displayPath} belongs to another batch: ${otherBatch ?? differences}`;
      throw safetyFailure('other_batch', message, { hint });
    }
    // Any line without a result may have been sent. A run creates its journal before its output, and records each line before it
    // has a result.
    let isJournalLost =
      earlierRuns.some((record) => record.journal_lost) || (output.exists && earlierRuns.length === 0);
    for (const line of table.lines())
      isJournalLost ||= table.result(line)?.applied !== 'no' && table.recordedDigest(line) === undefined;
    if (output.checkpoints.length === 0 && (isJournalLost || table.lastLine() > 0)) {
      const state = output.exists ? 'has no complete result' : 'is missing';
      await warn(
        `${displayPath} ${state}; its lines may have been applied (to start over, delete it and ${displayPath}.journal)`,
      );
    } else if (isJournalLost) {
      const state = journal ? 'lacks records of earlier runs' : 'is missing';
      const moved = journal ? '' : '; if the output was moved, move its journal, too';
      await warn(`${displayPath}.journal ${state}; lines without a result may have been applied${moved}`);
    }
    // Journals from before shards were parts of a file have no part.
    const part = earlierRuns.at(-1)?.part;
    const isInterleaved = part === undefined && (earlierRuns.length > 0 || hasEveryNthLine(table, identity.shard));
    return { ...target, run, table, output, journalFile, journal, isJournalLost, part, isInterleaved, ...lease };
  } catch (error) {
    await lease.release();
    throw error;
  }
}

// True for several results, of which neighbors were never among them.
function hasEveryNthLine(table: LineTable, shard: string): boolean {
  const [index = 1, count = 1] = shard.split('/').map(Number);
  const lines = Array.from(table.lines());
  return lines.length > 1 && lines.every((line) => isInShard(line, { index, count }));
}

/** Locks a file that a batch may write, and resolves its links. Throws Failure `safety_check` for one that another process uses. */
export async function lockOutput(
  { path, displayPath }: OutputPath,
  runtime: LockRuntime,
  options: LeaseOptions,
): Promise<OutputPath & { readonly lease: Lease }> {
  const target = await withFileFailure('write', displayPath, () => resolveSymlinks(path));
  const shownPath = target === path ? displayPath : target;
  return { path: target, displayPath: shownPath, lease: await acquireLease(target, shownPath, runtime, options) };
}

async function rejectUnusableFiles({ path, displayPath }: OutputPath, isResumed: boolean): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory())
    throw new Failure('local_file', `cannot write ${displayPath}: it is a directory`, { hint: 'name a file' });
  rejectDirectoryName(displayPath);
  if (found?.isFile() && found.nlink > 1)
    throw safetyFailure(
      'unsafe_file',
      `${displayPath} has ${found.nlink} names (hard links), so another batch could use it`,
      { hint: 'choose another file with -o' },
    );
  for (const suffix of isResumed ? [] : ['', '.journal'])
    if (await pathExists(path + suffix))
      throw usageFailure(
        `${displayPath}${suffix} already exists`,
        `use --resume to continue that run, ${suffix && 'delete it to start over, '}or choose another file with -o`,
      );
  for (const suffix of ['.inflight', '.intents'])
    if (await pathExists(path + suffix))
      throw earlierVersionFailure(displayPath + suffix, `the record of a batch is in ${displayPath}.journal now`);
}

/** Lines of an input that are not as results and records have them. */
export interface InputDifferences {
  readonly changedLines: readonly number[];
  readonly removedLines: ReadonlySet<number>;
}

/**
 * Compares an input with the digests of results and records. Lines count as removed if they are empty or beyond the end. With a
 * hint, throws Failure `safety_check` for an input that `results` were not made from.
 */
export async function compareInput(
  input: BatchInput,
  selection: LineSelection,
  table: LineTable,
  results: string,
  hint: string | undefined,
): Promise<InputDifferences> {
  const changedLines: number[] = [];
  const emptyLines = new Set<number>();
  let lastLine = 0;
  // A selection may end early; the lines after it are still there.
  let endLine = Number.POSITIVE_INFINITY;
  const onRead = ({ number }: InputLine): void => {
    lastLine = number;
  };
  const onEmpty = ({ number }: InputLine): void => void emptyLines.add(number);
  const onEnd = (): void => {
    endLine = lastLine;
  };
  for await (const line of selectedLines(input, selection, { onRead, onEmpty, onEnd })) {
    const known = table.sent(line.number)?.digest ?? table.result(line.number)?.digest;
    if (known !== undefined && known !== digestInputLine(line)) changedLines.push(line.number);
  }
  const removedLines = new Set<number>();
  for (const line of table.lines()) if (line > endLine || emptyLines.has(line)) removedLines.add(line);
  const texts = { changed: formatLineRanges(changedLines), removed: formatLineRanges(removedLines) };
  if (hint !== undefined) requireSameInput(input, texts, results, hint);
  return { changedLines, removedLines };
}

/** Throws Failure `safety_check` for an input with changed or removed lines. */
export function requireSameInput(
  { label }: BatchInput,
  lines: { readonly changed: string; readonly removed: string },
  results: string,
  hint: string,
): void {
  const parts = Object.entries(lines).flatMap(([kind, text]) => (text === '' ? [] : [`${kind} lines: ${text}`]));
  if (parts.length === 0) return;
  const message = `${label} is not the input that ${results} was made from: ${parts.join('; ')}`;
  throw safetyFailure('changed_input', message, { hint });
}
