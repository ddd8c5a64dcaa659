import { Failure, type FailureCode, InterruptedError, toFailure } from '../errors.ts';
import { pluralize } from '../json/pluralize.ts';
import { formatCount, formatPercent, formatSeconds } from '../output/transfer-text.ts';
import { ClosedPipeError } from '../output/writer.ts';
import { type BatchCounts, totalLines } from './batch-statistics.ts';

/** The outcome of all lines of a batch, in one line. */
export function formatBatchSummary(tally: BatchCounts, durationMs: number): string {
  const { done, failed, unknown, unsent } = tally.byStatus;
  const seconds = durationMs / 1000;
  const sections = [
    `${done} done`,
    `${failed} failed`,
    `${unknown} unknown`,
    `${unsent} not sent`,
    ...(tally.emptyLines > 0 ? [`${tally.emptyLines} empty`] : []),
    ...(tally.retries > 0 ? [`${tally.retries} ${pluralize(tally.retries, 'retry', 'retries')}`] : []),
  ];
  const rate = Math.round(tally.sentLines / Math.max(seconds, 0.001));
  const time = seconds < 0.1 ? '' : `${seconds.toFixed(1)} s, `;
  const pace = tally.sentLines > 0 ? ` (${time}${rate}/s)` : '';
  const lines = totalLines(tally);
  return `${lines} ${pluralize(lines, 'line')}: ${sections.join(', ')}${pace}`;
}

/** The end of a batch. */
interface BatchEnding {
  readonly tally: BatchCounts;
  readonly summary: string;
  /** The reason why svc stopped taking lines. */
  readonly stopReason: string | undefined;
  /** The signal that stopped the batch. */
  readonly abortReason: unknown;
  /** The results are in a file. */
  readonly isResumable: boolean;
}

/** The failure of a batch as a whole; undefined if every line succeeded. */
export function batchFailure(ending: BatchEnding): Failure | undefined {
  const { tally, summary, stopReason, abortReason } = ending;
  const { done, failed, unknown, unsent } = tally.byStatus;
  const interruption = abortReason instanceof InterruptedError ? abortReason : undefined;
  const code: FailureCode = interruption?.code ?? 'partly_failed';
  if (code === 'partly_failed' && failed + unknown + unsent === 0) return undefined;
  const isKnown = stopReason === undefined || stopReason === interruption?.message;
  return new Failure(
    code,
    `${interruption ? `${interruption.message}; ` : ''}${summary}${isKnown ? '' : `; ${stopReason}`}`,
    {
      applied: unknown > 0 ? 'unknown' : done > 0 ? 'yes' : 'no',
      isBatch: true,
      hint: [...(unknown > 0 ? [unknownLinesHint(tally)] : []), nextStepHint(ending)].join('; '),
    },
  );
}

/** The failure of a batch whose results could not be written: counts sent requests and lost responses. */
export function lostResultsFailure(error: unknown, tally: BatchCounts, isResumable: boolean): Failure {
  const { done, unknown } = tally.byStatus;
  const cause =
    error instanceof ClosedPipeError
      ? new Failure('local_file', 'cannot write stdout: its reader closed it', {
          hint: 'write the results to a file with -o',
        })
      : toFailure(error);
  if (cause.code !== 'local_file') return cause;
  const { lostResults, sentLines } = tally;
  const counts =
    sentLines === 0
      ? 'nothing was sent'
      : `${sentLines} ${pluralize(sentLines, 'line was', 'lines were')} sent, and ${lostResults} ${pluralize(lostResults, 'result was', 'results were')} lost`;
  return new Failure('local_file', `${cause.message}; ${counts}`, {
    ...cause.facts,
    ...(isResumable ? { hint: 'fix the cause, then continue with --resume' } : {}),
    applied: unknown > 0 ? 'unknown' : done > 0 ? 'yes' : 'no',
    isBatch: true,
  });
}

/** The note about failures that were not retried; undefined without any. */
export function skippedRetriesNote(count: number): string | undefined {
  if (count === 0) return undefined;
  return `${count} ${pluralize(count, 'failure was', 'failures were')} not retried, because the service failed every recent request`;
}

function unknownLinesHint({ unknownLines }: BatchCounts): string {
  return `lines that may have been applied: ${formatLineRanges(unknownLines)}`;
}

function nextStepHint({ tally, stopReason, isResumable }: BatchEnding): string {
  const { failed, unknown, unsent } = tally.byStatus;
  const { resendableFailures, unresolvedLines } = tally;
  if (!isResumable) return 'write the results to a file with -o, so that the batch can be resumed';
  if (unknown > 0) return `--resume${tally.resendableLines === unknown ? '' : ' --retry-unknown'} sends them again`;
  // A batch that was stopped may not have read its whole input.
  if (resendableFailures === 0 && stopReason === undefined && unsent === 0 && failed === unresolvedLines)
    return 'the failed lines were applied, so --resume does not send them again';
  return '--resume sends lines without a result, and failed lines that were not applied';
}

/** The state of a running batch. */
interface BatchProgress {
  readonly tally: BatchCounts;
  /** Size of the input; unknown for a pipe. */
  readonly totalBytes: number | undefined;
  /** Requests that may be in flight now. */
  readonly currentLimit: () => number;
  /** Milliseconds since the start. */
  readonly elapsed: () => number;
  /** The reason why no more lines are sent; undefined while they are. */
  readonly stopReason: () => string | undefined;
}

/** The progress line of a batch. The total and the time left are estimated until the input is read to its end. */
export function formatBatchProgress({ tally, totalBytes, currentLimit, elapsed, stopReason }: BatchProgress): string {
  const { failed, unknown } = tally.byStatus;
  const lines = totalLines(tally);
  const reason = stopReason();
  if (reason) {
    const inFlight = tally.linesRead - lines;
    return `${reason}; waiting for ${formatCount(inFlight)} ${pluralize(inFlight, 'request')} in flight`;
  }
  // The results of earlier runs take no time.
  const linesPerSecond = tally.sentLines / (Math.max(elapsed(), 1) / 1000);
  const total = estimateTotal(tally, totalBytes);
  const parts = [
    total
      ? `${formatCount(lines)} of ${total.text} ${pluralize(total.count, 'line')} (${formatPercent(lines, total.count)})`
      : `${formatCount(lines)} ${pluralize(lines, 'line')}`,
    ...(failed + unknown > 0 ? [`${formatCount(failed + unknown)} failed`] : []),
    `${Math.round(linesPerSecond)}/s`,
    ...(total && linesPerSecond > 0 ? [`${formatSeconds((total.count - lines) / linesPerSecond)} left`] : []),
    `up to ${currentLimit()} in flight`,
  ];
  return parts.join(', ');
}

// The lines that are not read yet are about as long as the others.
function estimateTotal(
  { linesRead, bytesRead }: BatchCounts,
  totalBytes: number | undefined,
): { readonly count: number; readonly text: string } | undefined {
  if (totalBytes === undefined || bytesRead === 0) return undefined;
  const count = Math.max(linesRead, Math.round((linesRead * totalBytes) / bytesRead));
  return { count, text: `${bytesRead < totalBytes ? 'about ' : ''}${formatCount(count)}` };
}

// Nobody reads more.
const MAX_RANGES = 20;

/** Line numbers as ascending ranges: `3, 7-12`; of many ranges the first 20, and how many more there are. */
export function formatLineRanges(lines: Iterable<number>): string {
  const ranges: [first: number, last: number][] = [];
  for (const line of [...lines].sort((left, right) => left - right)) {
    const range = ranges.at(-1);
    if (range && range[1] === line - 1) range[1] = line;
    else ranges.push([line, line]);
  }
  const formatted = ranges
    .slice(0, MAX_RANGES)
    .map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`));
  const more = ranges.length - MAX_RANGES;
  return more > 0 ? `${formatted.join(', ')} and ${more} more ${pluralize(more, 'range')}` : formatted.join(', ');
}
