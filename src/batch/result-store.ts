import { Buffer } from 'node:buffer';
import { rm } from 'node:fs/promises';
import { Failure } from '../errors.ts';
import { coalesceWrites } from '../files/coalesced-writes.ts';
import type { Sink } from '../output/sink.ts';
import { type BatchIdentity, formatStamp, recordedIdentity } from './batch-identity.ts';
import { type CheckpointFile, markCompleted, openCheckpoint, writeCheck } from './checkpoint-file.ts';
import { compactCheckpoint, sealLegacyEntries } from './compact-checkpoint.ts';
import type { InputDifferences } from './compare-input.ts';
import { type InFlightLine, openInFlightLog } from './in-flight-log.ts';
import type { IndexedEntry } from './line-index.ts';
import { countSuccesses, inFlightPath, legacyInFlightPath, type PriorResults } from './prior-results.ts';
import { sealEntry } from './seal.ts';

/** The result of a line in the checkpoint. */
export interface PriorEntry extends IndexedEntry {
  /** The bytes of the result line. Throws Failure `local`. */
  readonly read: () => Promise<Buffer>;
}

/** The known facts about a line before it is sent. */
export interface PriorLine {
  readonly entry: PriorEntry | undefined;
  /** The request that may have been sent, without a result. */
  readonly inFlight: InFlightLine | undefined;
}

/** The store of the results of a batch, with the results of earlier runs. */
export interface ResultStore {
  /** The id of the run, a UUID; the same when a run is resumed. */
  readonly runId: string;
  readonly isResumable: boolean;
  /** Throws Failure `guard` for a line that changed since, unless changes are accepted. */
  readonly findPrior: (line: number, digest: string) => PriorLine;
  /** Records that a line is about to be sent. Throws Failure `local` if the results are no longer at their path. */
  readonly markInFlight: (line: number, timestampMs: number, digest: string) => Promise<void>;
  readonly clearInFlight: (line: number) => Promise<void>;
  /** Ties a result line to its input line and its run. */
  readonly seal: (entry: Uint8Array, digest: string) => Uint8Array;
  readonly writeEntry: (entry: Uint8Array) => Promise<void>;
  /** Writes a result in place of an earlier one of this run. */
  readonly reviseEntry: (entry: Uint8Array) => Promise<void>;
  /**
   * Ends the run; `isComplete`: every line has a known outcome. If the results are no longer at their path, it counts
   * them with `onLostResults`, and throws Failure `local`.
   */
  readonly finish: (isComplete: boolean, onLostResults: (count: number) => void) => Promise<void>;
}

/** Results that go to a stream, which cannot be resumed. */
export function createStreamStore(runId: string, identity: BatchIdentity, { writer, commit }: Sink): ResultStore {
  const doNothing = async (): Promise<void> => {};
  const stamp = formatStamp(identity, runId);
  const writeEntry = coalesceWrites((entries) => writer.write(entries));
  return {
    runId,
    isResumable: false,
    findPrior: () => ({ entry: undefined, inFlight: undefined }),
    markInFlight: doNothing,
    clearInFlight: doNothing,
    seal: (entry, digest) => sealEntry(entry, digest, stamp),
    writeEntry,
    reviseEntry: writeEntry,
    finish: commit,
  };
}

/**
 * Opens a checkpoint file for new results, and the `.inflight` file beside it. What they say about changed and removed
 * lines no longer counts. Throws Failure `local`; the lock is released by `finish`, and here if opening fails.
 */
export async function openResultStore(
  prior: PriorResults,
  { changedLines, removedLines }: Pick<InputDifferences, 'changedLines' | 'removedLines'>,
): Promise<ResultStore> {
  const { path, displayPath, runId, identity, inFlight, lineIndex } = prior;
  const stamp = formatStamp(identity, runId);
  try {
    const isLegacyLog = inFlight !== undefined && inFlight.identity === undefined;
    const lines = inFlight?.lines ?? new Map();
    const inFlightLog = await openInFlightLog(inFlightPath(path), inFlightPath(displayPath), {
      runId,
      operation: identity.operation,
      identity: recordedIdentity(identity, runId),
      lines,
      hasLostRecords: prior.hasLostRecords,
      // Other lines may get another result: a killed run may have sent a changed one.
      successCount: countSuccesses(lineIndex, new Set([...changedLines, ...removedLines, ...lines.keys()])),
      validBytes: isLegacyLog ? 0 : (inFlight?.validBytes ?? 0),
    });
    if (inFlight) await Promise.all([...changedLines, ...removedLines].map(inFlightLog.clearInFlight));
    const { hasLegacyEntries } = prior.checkpoint;
    const state = hasLegacyEntries ? await sealLegacyEntries(prior, lineIndex, stamp) : prior.checkpoint;
    const isResumed = state.validBytes > 0;
    const checkpoint = await openCheckpoint(path, displayPath, state.validBytes);
    if (state.isUnterminated) await checkpoint.append(Buffer.from('\n'));
    await rm(legacyInFlightPath(path), { force: true });
    if (state.completion) await writeCheck(path, displayPath, state.completion.offset, state.completion.plainCheck);
    let writtenLines = 0;
    let hasRevisions = false;
    return {
      runId,
      isResumable: true,
      findPrior: (line, digest) => {
        const entry = lineIndex.get(line);
        const earlier = prior.inFlightLine(line);
        const knownDigest = earlier?.digest ?? entry?.digest;
        const isChanged = knownDigest !== undefined && knownDigest !== digest;
        if (isChanged && !prior.canAcceptChanges) throw changedLineFailure(line, displayPath);
        return isChanged
          ? { entry: undefined, inFlight: undefined }
          : {
              entry: entry && isSameInput(entry, digest) ? withReader(entry, checkpoint) : undefined,
              inFlight: earlier,
            };
      },
      markInFlight: async (line, timestampMs, digest) => {
        if (!checkpoint.isAtPath()) throw replacedOutputFailure(displayPath);
        await inFlightLog.markInFlight(line, { timestampMs, digest });
      },
      clearInFlight: inFlightLog.clearInFlight,
      seal: (entry, digest) => sealEntry(entry, digest, stamp),
      writeEntry: (entry) => {
        writtenLines += 1;
        return checkpoint.append(entry);
      },
      reviseEntry: (entry) => {
        hasRevisions = true;
        return checkpoint.append(entry);
      },
      finish: async (isComplete, onLostResults) => {
        try {
          await checkpoint.sync();
          const isAtPath = checkpoint.isAtPath();
          await checkpoint.close();
          if (!isAtPath) {
            onLostResults(writtenLines);
            await inFlightLog.close();
            throw replacedOutputFailure(displayPath);
          }
          const isSorted = !isResumed && !hasRevisions;
          const lineCount = isSorted ? writtenLines : await compactCheckpoint({ path, displayPath }, removedLines);
          if (isComplete) await markCompleted(path, displayPath, lineCount);
          if (!isComplete) await inFlightLog.close();
          else await (lineCount > 0 ? inFlightLog.removeFile() : inFlightLog.closeCompleted());
        } finally {
          await prior.release();
        }
      },
    };
  } catch (error) {
    await prior.release();
    throw error;
  }
}

function isSameInput(entry: IndexedEntry, digest: string): boolean {
  return entry.digest === undefined || entry.digest === digest;
}

function withReader(entry: IndexedEntry, { read }: CheckpointFile): PriorEntry {
  return { ...entry, read: () => read(entry.offset, entry.length) };
}

function replacedOutputFailure(displayPath: string): Failure {
  return new Failure('local', `${displayPath} was removed or replaced while the batch was running`, {
    hint: `lines that were sent are recorded in ${inFlightPath(displayPath)}; restore the output, then continue with --resume`,
  });
}

function changedLineFailure(line: number, displayPath: string): Failure {
  return new Failure('guard', `line ${line} changed while the batch was running; its result is in ${displayPath}`, {
    hint: 'restore the line, or resume with --accept-changes',
    applied: 'no',
  });
}
