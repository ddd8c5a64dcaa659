import type { Buffer } from 'node:buffer';
import { isIdempotent } from '../client/request.ts';
import { type AppliedState, Failure } from '../errors.ts';
import { coalesceWrites } from '../files/journal.ts';
import type { Operation } from '../operations/operation.ts';
import type { Sink } from '../output/sink.ts';
import {
  type BatchIdentity,
  type BatchJournal,
  batchJournalFile,
  createRunRecord,
  openBatchJournal,
  readBatchJournal,
} from './batch-journal.ts';
import { createLineTable, type IndexedResult, type SentLine } from './line-table.ts';
import { type OutputFile, openOutput, sortOutput } from './output-file.ts';
import type { InputDifferences, PriorResults } from './prior-results.ts';
import type { Checkpoint } from './result-line.ts';

export interface PriorEntry extends IndexedResult {
  /** The bytes of the result line. Throws Failure `local_file`. */
  readonly read: () => Promise<Buffer>;
}

export interface PriorLine {
  readonly entry: PriorEntry | undefined;
  /** Set if the line may have been sent and has no result since: the time of that request, or 0 if it was lost. */
  readonly sentAtMs: number | undefined;
}

/**
 * Whether earlier runs applied a line, by the first rule that matches: a result says so; the last record of its journal says
 * that it was sent; a result of a failure; neither, so it was never sent.
 */
export function priorOutcome({ entry, sentAtMs }: PriorLine): AppliedState {
  if (entry?.applied === 'yes') return 'yes';
  return sentAtMs !== undefined ? 'unknown' : (entry?.applied ?? 'no');
}

/** True for a line that may be sent: one that was or may have been applied only if that is safe or wanted. */
export function canSendLine(prior: PriorLine, effect: Operation['effect'], canRetryUnknown: boolean): boolean {
  const applied = priorOutcome(prior);
  if (applied === 'no' || (applied === 'unknown' && canRetryUnknown)) return true;
  // Without the time of its first request, it would be another call.
  return isIdempotent(effect) && (effect === 'read' || Boolean(prior.sentAtMs));
}

export interface ResultStore {
  readonly isResumable: boolean;
  /** The batch as each result line names it. */
  readonly batch: Omit<Checkpoint, 'input'>;
  /** Throws Failure `safety_check` for a line that changed since, unless changes are accepted. */
  readonly findPrior: (line: number, digest: string) => PriorLine;
  /** Records that a line is about to be sent. Throws Failure `local_file` if the results are no longer at their path. */
  readonly recordSending: (line: number, sent: SentLine) => Promise<void>;
  readonly recordWithdrawn: BatchJournal['recordWithdrawn'];
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
    findPrior: () => ({ entry: undefined, sentAtMs: undefined }),
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
 * Throws Failure `local_file`; the lock is released by `finish`, and here if opening fails.
 */
export async function openResultStore(
  prior: PriorResults,
  identity: BatchIdentity,
  { changedLines, removedLines }: Pick<InputDifferences, 'changedLines' | 'removedLines'>,
): Promise<ResultStore> {
  const { displayPath, run, table, isJournalLost } = prior;
  const journalFile = batchJournalFile(prior);
  try {
    let output: OutputFile | undefined;
    const requireOutputAtPath = (): void => {
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
    const state = prior.output ?? { validBytes: 0, isUnterminated: false };
    output = await openOutput(prior, state);
    const { append, read, finish, isAtPath } = output;
    // What the journal has about a changed line counts until the line is sent.
    const changed = new Map(changedLines.map((line) => [line, table.sent(line)?.digest]));
    for (const line of changed.keys()) table.setSent(line, undefined);
    // A new output keeps the order of the responses.
    let isSorted = prior.output?.isSorted !== false && removedLines.size === 0;
    let writtenLines = 0;
    return {
      isResumable: true,
      batch: { run, operation: identity.operation, shard: identity.shard },
      findPrior: (line, digest) => {
        const [entry, sent] = [table.result(line), table.sent(line)];
        const known = sent?.digest ?? (changed.has(line) ? undefined : entry?.digest);
        if (known !== undefined && known !== digest) throw changedLineFailure(line, displayPath);
        const isLost = isJournalLost && !entry && !sent;
        return {
          entry: entry?.digest === digest ? { ...entry, read: () => read(entry.offset, entry.length) } : undefined,
          sentAtMs: sent?.timestampMs ?? (isLost ? 0 : undefined),
        };
      },
      recordSending: (line, sent) => journal.recordSending(line, sent, changed.get(line)),
      recordWithdrawn: journal.recordWithdrawn,
      recordChanged: async (line, digest) => {
        const replacedDigest = changed.get(line);
        if (replacedDigest !== undefined) await journal.recordWithdrawn(line, digest, replacedDigest);
      },
      write: (result) => {
        writtenLines += 1;
        isSorted &&= state.validBytes === 0;
        return append(result);
      },
      revise: (result) => {
        isSorted = false;
        return append(result);
      },
      finish: async (onLostResults) => {
        try {
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
          await sortOutput(prior, finalTable, removedLines);
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
