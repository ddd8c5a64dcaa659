import { Buffer } from 'node:buffer';
import { usageFailure } from '../errors.ts';
import { coalesceWrites } from '../files/coalesced-writes.ts';
import { pathExists } from '../files/file-errors.ts';
import { acquireLock, type LockRuntime } from '../files/file-lock.ts';
import type { Operation } from '../operations/operation.ts';
import type { Sink } from '../output/sink.ts';
import { openCheckpoint } from './checkpoint-file.ts';
import { compactCheckpoint } from './compact-checkpoint.ts';
import { type InFlightState, openInFlightLog, readInFlightLog } from './in-flight-log.ts';
import { createLineIndex, type IndexedEntry } from './line-index.ts';
import { readCheckpoint } from './read-checkpoint.ts';

/** Where the results of a batch go, and what is known of earlier times. */
export interface ResultStore {
  /** The id of the run, a UUID; the same when it is gone on with. */
  readonly runId: string;
  /** The ids of an earlier time are made again; without its intents they are others. */
  readonly isSameRun: boolean;
  /** They can be gone on with. */
  readonly isResumable: boolean;
  /** What stands about a line already. */
  readonly findEntry: (line: number) => IndexedEntry | undefined;
  /** The time a line said when it may have left, without an outcome. */
  readonly inFlightSince: (line: number) => number | undefined;
  /** Says that a line is about to leave. */
  readonly markInFlight: (line: number, timestampMs: number) => Promise<void>;
  readonly clearInFlight: (line: number) => Promise<void>;
  readonly writeEntry: (entry: Uint8Array) => Promise<void>;
  /** Ends it; `isComplete`: no line is left whose outcome is open. */
  readonly finish: (isComplete: boolean) => Promise<void>;
}

/** Results that go to a stream: nothing is known of them later. */
export function createStreamStore(runId: string, { writer, commit }: Sink): ResultStore {
  const noop = async (): Promise<void> => {};
  return {
    runId,
    isSameRun: true,
    isResumable: false,
    findEntry: () => undefined,
    inFlightSince: () => undefined,
    markInFlight: noop,
    clearInFlight: noop,
    writeEntry: coalesceWrites((entries) => writer.write(entries)),
    finish: commit,
  };
}

/** What is asked of a file of results. */
export interface ResultStoreOptions {
  readonly operation: Operation;
  /** The id of the run, where it is a new one. */
  readonly newRunId: string;
  /** The file may be there, and is gone on with. */
  readonly isResumed: boolean;
}

/**
 * Opens the file of results, which is the journal of the batch, and beside it the file of intents. Throws usage for one
 * that is there already and is not to be gone on with, and Failure `local` where another process uses it.
 */
export async function openResultStore(
  path: string,
  displayPath: string,
  { operation, newRunId, isResumed }: ResultStoreOptions,
  runtime: LockRuntime,
): Promise<ResultStore> {
  const releaseLock = await acquireLock(path, displayPath, runtime);
  try {
    if (!isResumed) await rejectExistingResults(path, displayPath);
    const lineIndex = createLineIndex();
    const checkpointState = await readCheckpoint(path, displayPath, 0, lineIndex);
    const earlierRun = await readInFlightLog(
      inFlightPath(path),
      inFlightPath(displayPath),
      (line) => lineIndex.get(line)?.exitCode !== 0,
    );
    const inFlightState: InFlightState = earlierRun ?? {
      run: newRunId,
      operation: operation.path,
      lines: new Map(),
      validBytes: 0,
    };
    if (inFlightState.operation !== operation.path)
      throw usageFailure(
        `${displayPath} belongs to a batch of ${inFlightState.operation}`,
        'give another file with -o',
      );
    const checkpoint = await openCheckpoint(path, displayPath, checkpointState.validBytes);
    if (checkpointState.isUnterminated) await checkpoint.append(Buffer.from('\n'));
    const inFlightLog = await openInFlightLog(inFlightPath(path), inFlightPath(displayPath), inFlightState);
    return {
      runId: inFlightState.run,
      isSameRun: earlierRun !== undefined,
      isResumable: true,
      findEntry: lineIndex.get,
      inFlightSince: (line) => inFlightState.lines.get(line),
      markInFlight: inFlightLog.markInFlight,
      clearInFlight: inFlightLog.clearInFlight,
      writeEntry: checkpoint.append,
      finish: async (isComplete) => {
        try {
          await checkpoint.sync();
          await checkpoint.close();
          if (checkpointState.validBytes > 0) await compactCheckpoint({ path, displayPath });
          await (isComplete ? inFlightLog.removeFile() : inFlightLog.close());
        } finally {
          await releaseLock();
        }
      },
    };
  } catch (error) {
    await releaseLock();
    throw error;
  }
}

/** Throws usage for a file of results, or of intents, that is there already. */
export async function rejectExistingResults(path: string, displayPath: string): Promise<void> {
  for (const toPath of [String, inFlightPath]) {
    if (await pathExists(toPath(path)))
      throw usageFailure(
        `${toPath(displayPath)} is there already`,
        '--resume goes on with it; or give another file with -o',
      );
  }
}

/** The file of intents beside one of results. */
export function inFlightPath(path: string): string {
  return `${path}.intents`;
}
