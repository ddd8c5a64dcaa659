import { Failure, type FailureCode, InterruptedError, toFailure } from '../errors.ts';
import { ClosedPipeError } from '../output/writer.ts';
import { type BatchCounts, totalLines } from './batch-counts.ts';
import { formatLineRanges } from './line-ranges.ts';

/** What became of all lines of a batch, in one line. */
export function formatBatchSummary(tally: BatchCounts, durationMs: number): string {
  const { done, failed, unknown, unsent } = tally.byStatus;
  const seconds = durationMs / 1000;
  const sections = [
    `${done} done`,
    `${failed} failed`,
    `${unknown} unknown`,
    `${unsent} not sent`,
    ...(tally.emptyLines > 0 ? [`${tally.emptyLines} blank`] : []),
    ...(tally.retries > 0 ? [`${tally.retries} repeats`] : []),
  ];
  const rate = Math.round((done + failed + unknown) / Math.max(seconds, 0.001));
  return `${totalLines(tally)} lines: ${sections.join(', ')} (${seconds.toFixed(1)} s, ${rate}/s)`;
}

/** How a batch ended. */
export interface BatchEnding {
  readonly tally: BatchCounts;
  readonly summary: string;
  /** Why no more lines were taken. */
  readonly stopReason: string | undefined;
  /** Why those under way were ended. */
  readonly abortReason: unknown;
  /** It can be gone on with. */
  readonly isResumable: boolean;
}

/** The Failure that a batch is as a whole, or none where every line was answered. */
export function batchFailure({
  tally,
  summary,
  stopReason,
  abortReason,
  isResumable,
}: BatchEnding): Failure | undefined {
  const { done, failed, unknown, unsent } = tally.byStatus;
  const code: FailureCode =
    abortReason instanceof InterruptedError
      ? abortReason.code
      : stopReason === 'interrupted'
        ? 'interrupted'
        : 'partial';
  if (code === 'partial' && failed + unknown + unsent === 0) return undefined;
  const isKnown = stopReason === undefined || stopReason === code;
  return new Failure(code, `${code === 'partial' ? '' : `${code}; `}${summary}${isKnown ? '' : `; ${stopReason}`}`, {
    applied: unknown > 0 ? 'unknown' : done > 0 ? 'yes' : 'no',
    hint: [...(unknown > 0 ? [unknownLinesHint(tally)] : []), nextStepHint(unknown > 0, isResumable)].join('; '),
  });
}

/** The failure of a batch whose results could not be written: how much was sent, and how much of it is lost. */
export function lostResultsFailure(error: unknown, tally: BatchCounts): Failure {
  const { done, failed, unknown } = tally.byStatus;
  const cause =
    error instanceof ClosedPipeError
      ? new Failure('local', 'cannot write stdout: its reader closed it', {
          hint: 'write the results to a file with -o',
        })
      : toFailure(error);
  if (cause.code !== 'local') return cause;
  const counts = `${done + failed + unknown} lines were sent, and ${tally.lostResults} results were lost`;
  return new Failure('local', `${cause.message}; ${counts}`, {
    ...cause.facts,
    applied: unknown > 0 ? 'unknown' : done > 0 ? 'yes' : 'no',
  });
}

function unknownLinesHint({ unknownLines }: BatchCounts): string {
  return `lines that may have been applied: ${formatLineRanges([...unknownLines].sort((left, right) => left - right))}`;
}

function nextStepHint(hasUnknown: boolean, isJournal: boolean): string {
  if (!isJournal) return 'with -o a batch can be gone on with';
  return hasUnknown
    ? '--resume --retry-unknown sends them again'
    : '--resume sends what is missing, and what failed and was not applied';
}
