import { type AppliedState, Failure, InterruptedError, type Issue, toFailure } from '../errors.ts';
import { pluralize } from '../json/pluralize.ts';
import { issueText } from '../output/failure-text.ts';
import type { Reporter } from '../output/reporter.ts';
import { formatCount, formatPercent, formatSeconds } from '../output/transfer-text.ts';
import { ClosedPipeError } from '../output/writer.ts';
import { type BatchCounts, totalLines } from './batch-statistics.ts';
import type { Scheduler } from './scheduler.ts';

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

interface BatchEnding {
  readonly tally: BatchCounts;
  /** The reason why svc stopped taking lines. */
  readonly stopReason: string | undefined;
  readonly abortReason: unknown;
  readonly summary: string;
  /** The results are in a file. */
  readonly isResumable: boolean;
}

/** The failure of a batch as a whole; undefined if every line succeeded. */
export function batchFailure(ending: BatchEnding): Failure | undefined {
  const { tally, summary, stopReason, abortReason } = ending;
  const { failed, unknown, unsent } = tally.byStatus;
  const interruption = abortReason instanceof InterruptedError ? abortReason : undefined;
  if (!interruption && failed + unknown + unsent === 0) return undefined;
  const isKnown = stopReason === undefined || stopReason === interruption?.message;
  const unknownLines = `lines that may have been applied: ${formatLineRanges(tally.unknownLines)}`;
  const message = `${interruption ? `${interruption.message}; ` : ''}${summary}${isKnown ? '' : `; ${stopReason}`}`;
  const hint = (unknown > 0 ? `${unknownLines}; ` : '') + nextStepHint(ending);
  return new Failure(interruption?.code ?? 'partly_failed', message, {
    applied: appliedOf(tally),
    isBatch: true,
    hint,
  });
}

/** The failure of a batch whose results could not be written: counts sent requests and lost responses. */
export function lostResultsFailure(error: unknown, tally: BatchCounts, isResumable: boolean): Failure {
  const closed = { hint: 'write the results to a file with -o' };
  const cause =
    error instanceof ClosedPipeError
      ? new Failure('local_file', 'cannot write stdout: its reader closed it', closed)
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
    applied: appliedOf(tally),
    isBatch: true,
  });
}

function appliedOf({ byStatus: { unknown, done } }: BatchCounts): AppliedState {
  return unknown > 0 ? 'unknown' : done > 0 ? 'yes' : 'no';
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

interface BatchProgress extends Pick<Scheduler, 'currentLimit' | 'stopReason'> {
  readonly tally: BatchCounts;
  /** Size of the input; unknown for a pipe. */
  readonly totalBytes: number | undefined;
  readonly elapsed: () => number;
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
  const about = tally.bytesRead < (totalBytes ?? 0) ? 'about ' : '';
  const parts = [
    total
      ? `${formatCount(lines)} of ${about}${formatCount(total)} ${pluralize(total, 'line')} (${formatPercent(lines, total)})`
      : `${formatCount(lines)} ${pluralize(lines, 'line')}`,
    ...(failed + unknown > 0 ? [`${formatCount(failed + unknown)} failed`] : []),
    `${Math.round(linesPerSecond)}/s`,
    ...(total && linesPerSecond > 0 ? [`${formatSeconds((total - lines) / linesPerSecond)} left`] : []),
    `up to ${currentLimit()} in flight`,
  ];
  return parts.join(', ');
}

// The lines that are not read yet are about as long as the others.
function estimateTotal({ linesRead, bytesRead }: BatchCounts, totalBytes: number | undefined): number | undefined {
  if (totalBytes === undefined || bytesRead === 0) return undefined;
  return Math.max(linesRead, Math.round((linesRead * totalBytes) / bytesRead));
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
  const shown = ranges.slice(0, MAX_RANGES).map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`));
  const more = ranges.length - MAX_RANGES;
  return shown.join(', ') + (more > 0 ? ` and ${more} more ${pluralize(more, 'range')}` : '');
}

// A mistake in one line is likely in all lines, and a file has millions.
const MAX_WARNINGS = 20;
// If a service mixes up one response, it can mix up all.
const MAX_PRINTED_LINES = 5;
const MAX_LISTED_LINES = 1000;
// The ids of a whole file would need too much memory.
const MAX_TRACKED_IDS = 100_000;

export type BatchWarnings = ReturnType<typeof createBatchWarnings>;

/** Limits the warnings about the lines of a batch. A line may be checked twice, and is warned about once. */
export function createBatchWarnings(label: string, { warn, note }: Pick<Reporter, 'warn' | 'note'>) {
  const bodyWarnings = new Set<string>();
  const lineOfId = new Map<string, number>();
  const duplicateLines = new Set<number>();
  const suspectLines: number[] = [];
  let suspectCount = 0;
  let hasIdInBody = false;
  let hasListedIds = false;
  return {
    addBodyWarning: async (warning: Issue): Promise<void> => {
      const text = issueText(warning);
      // A warning about a flag has the same text for each line.
      if (bodyWarnings.size === MAX_WARNINGS || bodyWarnings.has(text)) return;
      bodyWarnings.add(text);
      const isLast = bodyWarnings.size === MAX_WARNINGS;
      await warn(text);
      if (isLast)
        await note('further warnings are not shown; run with --dry-run --strict to count lines with warnings');
    },
    /** `id` is JSON; `isInBody`: the line is a body, and not a line of an OpenAI batch. */
    addCustomId: async (line: number, id: string, isInBody: boolean): Promise<void> => {
      const firstLine = lineOfId.get(id) ?? line;
      if (lineOfId.size < MAX_TRACKED_IDS) lineOfId.set(id, firstLine);
      if (firstLine !== line && duplicateLines.size < MAX_LISTED_LINES) duplicateLines.add(firstLine).add(line);
      if (!isInBody || hasIdInBody) return;
      hasIdInBody = true;
      await warn(`${label}:${line} custom_id: svc uses it as the id of the result and does not send it`);
    },
    addResponseWarnings: async (line: number, warnings: readonly string[]): Promise<void> => {
      if (warnings.length === 0) return;
      suspectCount += 1;
      if (suspectLines.length < MAX_LISTED_LINES) suspectLines.push(line);
      if (suspectCount <= MAX_PRINTED_LINES) for (const warning of warnings) await warn(`line ${line}: ${warning}`);
    },
    /** Lists the lines that share a `custom_id`, and those whose responses have warnings if not all were printed. */
    finish: async (): Promise<void> => {
      const lines = formatLineRanges(duplicateLines);
      if (lines !== '' && !hasListedIds)
        await warn(`${label}: lines share a custom_id, so the id of a result names several lines: ${lines}`);
      hasListedIds ||= lines !== '';
      const more = suspectCount > suspectLines.length ? ' and more' : '';
      if (suspectCount > MAX_PRINTED_LINES)
        await warn(
          `the responses of ${suspectCount} lines have warnings: lines ${formatLineRanges(suspectLines)}${more}`,
        );
    },
  };
}
