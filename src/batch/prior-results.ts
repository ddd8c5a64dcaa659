import { stat } from 'node:fs/promises';
import { Failure, usageFailure } from '../errors.ts';
import { isNotFoundError, pathExists, withFileFailure } from '../files/file-errors.ts';
import { acquireLock, type LockRuntime, type Unlock } from '../files/file-lock.ts';
import { resolveSymlinks } from '../files/rename-durably.ts';
import type { Reporter } from '../output/reporter.ts';
import {
  type BatchIdentity,
  compareIdentities,
  compareStamps,
  type IdentityDifferences,
  recordedIdentity,
  stampRunId,
} from './batch-identity.ts';
import type { CheckpointPath } from './compact-checkpoint.ts';
import { type InFlightLine, type InFlightState, readInFlightLog } from './in-flight-log.ts';
import { createLineIndex, type LineIndex } from './line-index.ts';
import { type CheckpointState, readCheckpoint } from './read-checkpoint.ts';

/** The results of earlier runs in a checkpoint file, which is locked against other processes. */
export interface PriorResults extends CheckpointPath {
  /** The id of the run, a UUID; the same when a run is resumed. */
  readonly runId: string;
  readonly identity: BatchIdentity;
  readonly lineIndex: LineIndex;
  readonly checkpoint: CheckpointState;
  /** The checkpoint file exists, without any result or log. */
  readonly isEmptied: boolean;
  readonly inFlight: InFlightState | undefined;
  /** Results of earlier runs are no longer in the checkpoint file. */
  readonly hasRemovedResults: boolean;
  /** Records or results of earlier runs were lost: lines without a result may have been sent. */
  readonly hasLostRecords: boolean;
  /** The request of a line that has no result, if it may have been sent. */
  readonly inFlightLine: (line: number) => InFlightLine | undefined;
  readonly canAcceptChanges: boolean;
  readonly release: Unlock;
}

/** The permitted use of a checkpoint file. */
export interface CheckpointUse {
  readonly identity: BatchIdentity;
  /** The id of the run, if it is a new one. */
  readonly newRunId: string;
  readonly isResumed: boolean;
  /** Changed input lines, and other flags, are wanted. */
  readonly canAcceptChanges: boolean;
}

/**
 * Locks a checkpoint file and reads the results of earlier runs. Throws Failure `guard` for a file that another process uses,
 * that has hard links, or that belongs to another batch, and usage for a file that exists without `--resume`.
 */
export async function openPriorResults(
  checkpointPath: CheckpointPath,
  use: CheckpointUse,
  runtime: LockRuntime,
  { warn }: Pick<Reporter, 'warn'>,
): Promise<PriorResults> {
  const { release, ...target } = await lockCheckpoint(checkpointPath, runtime);
  try {
    await rejectUnusableFile(target);
    if (!use.isResumed) await rejectExistingResults(target);
    const prior = await readPriorResults(target, use, release);
    const { checkpoint, inFlight } = prior;
    if (prior.isEmptied) {
      const state = (await stat(prior.path)).size === 0 ? 'is empty' : 'has no complete result';
      await warn(`${prior.displayPath} ${state}; its lines may have been applied (to start over, delete the file)`);
    } else if (prior.hasRemovedResults)
      await warn(`results were removed from ${prior.displayPath}; lines without a result may have been applied`);
    else if (isInFlightLogMissing(prior.lineIndex, checkpoint, inFlight))
      await warn(
        `${inFlightPath(prior.displayPath)} is missing, and the run was not completed; lines without a result may have been applied`,
      );
    else if (prior.hasLostRecords)
      await warn(
        `records of an earlier run of ${prior.displayPath} were lost; lines without a result may have been applied`,
      );
    return prior;
  } catch (error) {
    await release();
    throw error;
  }
}

/** Locks a file that a batch may write, and resolves its links. Throws Failure `guard` for one that another process uses. */
export async function lockCheckpoint(
  { path, displayPath }: CheckpointPath,
  runtime: LockRuntime,
): Promise<CheckpointPath & { readonly release: Unlock }> {
  const target = await withFileFailure(`write ${displayPath}`, () => resolveSymlinks(path));
  const shownPath = target === path ? displayPath : target;
  return { path: target, displayPath: shownPath, release: await acquireLock(target, shownPath, runtime, 0, 'guard') };
}

async function readPriorResults(
  { path, displayPath }: CheckpointPath,
  { identity, newRunId, canAcceptChanges }: CheckpointUse,
  release: Unlock,
): Promise<PriorResults> {
  const lineIndex = createLineIndex();
  const checkpoint = await readCheckpoint(path, displayPath, 0, lineIndex);
  const isSettled = (line: number, digest: string | undefined): boolean => {
    const entry = lineIndex.get(line);
    return entry?.exitCode === 0 && (digest === undefined || entry.digest === undefined || entry.digest === digest);
  };
  const inFlight =
    (await readInFlightLog(inFlightPath(path), inFlightPath(displayPath), isSettled)) ??
    (await readInFlightLog(legacyInFlightPath(path), legacyInFlightPath(displayPath), isSettled));
  const runIds = new Set(Array.from(checkpoint.stamps, stampRunId));
  const [firstRunId] = runIds;
  const runId = inFlight?.runId ?? firstRunId ?? newRunId;
  if (runIds.size > 1) throw otherBatchFailure(displayPath, ['it holds results of several runs'], false);
  if (inFlight?.identity && firstRunId !== undefined && firstRunId !== inFlight.runId)
    throw otherBatchFailure(displayPath, [`${inFlightPath(displayPath)} belongs to another run`], false);
  rejectOtherBatch(displayPath, identityDifferences(identity, runId, checkpoint, inFlight), canAcceptChanges);
  const isLegacy = checkpoint.hasLegacyEntries || (inFlight !== undefined && inFlight.identity === undefined);
  if (isLegacy && !canAcceptChanges) throw legacyFailure(displayPath);
  // A run creates its log before its output, so an output without results and log lost them.
  const isEmptied = checkpoint.validBytes === 0 && !inFlight && (await pathExists(path));
  const hasRemovedResults =
    checkpoint.hasMissingEntries || (inFlight !== undefined && inFlight.successCount > countSuccesses(lineIndex));
  const hasLostRecords =
    inFlight?.hasLostRecords || isEmptied || hasRemovedResults || isInFlightLogMissing(lineIndex, checkpoint, inFlight);
  return {
    path,
    displayPath,
    runId,
    identity,
    lineIndex,
    checkpoint,
    isEmptied,
    inFlight,
    hasRemovedResults,
    hasLostRecords,
    inFlightLine: (line) =>
      inFlight?.lines.get(line) ?? (hasLostRecords && !lineIndex.get(line) ? LOST_LINE : undefined),
    canAcceptChanges,
    release,
  };
}

/** The number of successful results, apart from those of `otherLines`. */
export function countSuccesses(lineIndex: LineIndex, otherLines: ReadonlySet<number> = new Set()): number {
  let count = 0;
  for (const line of lineIndex.lines()) if (lineIndex.get(line)?.exitCode === 0 && !otherLines.has(line)) count += 1;
  return count;
}

// Nobody knows when, or whether, it was sent.
const LOST_LINE: InFlightLine = { timestampMs: 0, digest: undefined };

// A checkpoint and its log belong together until the run is completed.
function isInFlightLogMissing(
  lineIndex: LineIndex,
  { completion, hasLegacyEntries }: CheckpointState,
  inFlight: InFlightState | undefined,
): boolean {
  return lineIndex.size() > 0 && !inFlight && !completion && !hasLegacyEntries;
}

function identityDifferences(
  identity: BatchIdentity,
  runId: string,
  { stamps }: CheckpointState,
  inFlight: InFlightState | undefined,
): IdentityDifferences {
  if (inFlight && inFlight.operation !== identity.operation)
    return { fatal: [`it holds results of ${inFlight.operation}, not ${identity.operation}`], acceptable: [] };
  const ofResults = compareStamps(stamps, identity, runId);
  if (!inFlight?.identity) return ofResults;
  // Of two sets of values that were accepted, both are fine.
  const isKnown = stamps.size > 0 && ofResults.acceptable.length === 0;
  const ofLog = compareIdentities(inFlight.identity, recordedIdentity(identity, runId));
  return { fatal: [...ofLog.fatal, ...ofResults.fatal], acceptable: isKnown ? [] : ofLog.acceptable };
}

function rejectOtherBatch(
  displayPath: string,
  { fatal, acceptable }: IdentityDifferences,
  canAcceptChanges: boolean,
): void {
  if (fatal.length > 0) throw otherBatchFailure(displayPath, fatal, false);
  if (acceptable.length > 0 && !canAcceptChanges) throw otherBatchFailure(displayPath, acceptable, true);
}

function otherBatchFailure(displayPath: string, reasons: readonly string[], isAcceptable: boolean): Failure {
  return new Failure('guard', `${displayPath} belongs to another batch: ${reasons.join('; ')}`, {
    hint: isAcceptable
      ? 'use the same flags and profile, choose another file with -o, or resume with --accept-changes'
      : 'choose another file with -o',
    applied: 'no',
  });
}

function legacyFailure(displayPath: string): Failure {
  return new Failure('guard', `${displayPath} was written by svc 0.1, which did not record its input lines`, {
    hint: 'if its input is unchanged, resume with --accept-changes',
    applied: 'no',
  });
}

async function rejectUnusableFile({ path, displayPath }: CheckpointPath): Promise<void> {
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

async function rejectExistingResults({ path, displayPath }: CheckpointPath): Promise<void> {
  for (const toPath of [String, inFlightPath, legacyInFlightPath]) {
    if (await pathExists(toPath(path)))
      throw usageFailure(
        `${toPath(displayPath)} already exists`,
        'use --resume to continue that run, or choose another file with -o',
      );
  }
}

/** The write-ahead log beside a checkpoint file. */
export function inFlightPath(path: string): string {
  return `${path}.inflight`;
}

/** The write-ahead log as svc 0.1 named it. */
export function legacyInFlightPath(path: string): string {
  return `${path}.intents`;
}
