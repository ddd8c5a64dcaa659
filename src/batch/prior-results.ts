import { stat } from 'node:fs/promises';
import { Failure, usageFailure } from '../errors.ts';
import { isNotFoundError, pathExists, withFileFailure } from '../files/file-errors.ts';
import { acquireLock, type LockRuntime, type Unlock } from '../files/file-lock.ts';
import { resolveSymlinks } from '../files/file-replacement.ts';
import type { Reporter } from '../output/reporter.ts';
import { type BatchIdentity, compareRuns, differentKind } from './batch-identity.ts';
import { type BatchJournalState, batchJournalFile, readBatchJournal } from './batch-journal.ts';
import { createLineTable, type LineTable } from './line-table.ts';
import { earlierVersionFailure, type OutputPath, type OutputState, readOutput } from './output-file.ts';

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
export interface OutputUse {
  readonly identity: BatchIdentity;
  /** The id of the run, if it is a new one. */
  readonly newRun: string;
  readonly isResumed: boolean;
  /** Changed input lines, and other flags, are wanted. */
  readonly canAcceptChanges: boolean;
}

/**
 * Locks an output and reads it and its journal. Throws Failure `guard` for an output that another process uses, that has
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
    const prior = await readPriorResults(target, use, release);
    const warning = lossWarning(prior);
    if (warning !== undefined) await warn(warning);
    return prior;
  } catch (error) {
    await release();
    throw error;
  }
}

/** Locks a file that a batch may write, and resolves its links. Throws Failure `guard` for one that another process uses. */
export async function lockOutput(
  { path, displayPath }: OutputPath,
  runtime: LockRuntime,
): Promise<OutputPath & { readonly release: Unlock }> {
  const target = await withFileFailure(`write ${displayPath}`, () => resolveSymlinks(path));
  const shownPath = target === path ? displayPath : target;
  return { path: target, displayPath: shownPath, release: await acquireLock(target, shownPath, runtime, 0, 'guard') };
}

async function readPriorResults(
  target: OutputPath,
  { identity, newRun, canAcceptChanges }: OutputUse,
  release: Unlock,
): Promise<PriorResults> {
  const { displayPath } = target;
  for (const suffix of EARLIER_SUFFIXES)
    if (await pathExists(target.path + suffix))
      throw earlierVersionFailure(displayPath + suffix, `the record of a batch is in ${displayPath}.journal now`);
  const table = createLineTable();
  const journal = await readBatchJournal(batchJournalFile(target), table);
  const output = await readOutput(target, 0, table);
  const runs = new Set([...(journal?.runs ?? []), ...(output?.checkpoints ?? [])].map(({ run }) => run));
  const kinds = [...(journal?.runs ?? []), ...(output?.checkpoints ?? [])];
  const [otherKind] = kinds.flatMap((kind) => differentKind(kind, identity) ?? []);
  if (otherKind !== undefined) throw otherBatchFailure(displayPath, [otherKind], false);
  if (runs.size > 1) throw otherBatchFailure(displayPath, ['it and its journal have records of several runs'], false);
  const differences = compareRuns(journal?.runs ?? [], identity);
  if (differences.length > 0 && !canAcceptChanges) throw otherBatchFailure(displayPath, differences, true);
  const [run = newRun] = runs;
  // A run creates its journal before its output.
  const isJournalLost = journal ? journal.runs.some(({ isJournalLost }) => isJournalLost) : output !== undefined;
  return { ...target, run, table, output, journal, isJournalLost, release };
}

const EARLIER_SUFFIXES = ['.inflight', '.intents'];

function lossWarning({ displayPath, table, output, journal }: PriorResults): string | undefined {
  if (!output) return undefined;
  if (table.size() === 0 && (!journal || table.lastLine() > 0)) {
    const state = output.isEmpty ? 'is empty' : 'has no complete result';
    return `${displayPath} ${state}; its lines may have been applied (to start over, delete it and ${displayPath}.journal)`;
  }
  return journal ? undefined : `${displayPath}.journal is missing; lines without a result may have been applied`;
}

function otherBatchFailure(displayPath: string, reasons: readonly string[], isAcceptable: boolean): Failure {
  return new Failure('guard', `${displayPath} belongs to another batch: ${reasons.join('; ')}`, {
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
    throw new Failure('local', `cannot write ${displayPath}: it is a directory`, { applied: 'no' });
  if (found?.isFile() && found.nlink > 1)
    throw new Failure('guard', `${displayPath} has ${found.nlink} names (hard links), so another batch could use it`, {
      hint: 'choose another file with -o',
      applied: 'no',
    });
}

async function rejectExistingResults({ path, displayPath }: OutputPath): Promise<void> {
  for (const suffix of ['', '.journal', ...EARLIER_SUFFIXES])
    if (await pathExists(path + suffix))
      throw usageFailure(
        `${displayPath}${suffix} already exists`,
        'use --resume to continue that run, or choose another file with -o',
      );
}
