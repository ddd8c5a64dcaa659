import { rangesText } from '../../batch/ranges.ts';
import { linesIn, type Tally } from '../../batch/tally.ts';
import { Failure, type FailureCode, Interrupted } from '../../errors.ts';

/** What became of all lines of a batch, in one line. */
export function summaryText(tally: Tally, milliseconds: number): string {
  const { done, failed, unknown, unsent } = tally.counts;
  const seconds = milliseconds / 1000;
  const parts = [
    `${done} done`,
    `${failed} failed`,
    `${unknown} unknown`,
    `${unsent} not sent`,
    ...(tally.blank > 0 ? [`${tally.blank} blank`] : []),
    ...(tally.repeats > 0 ? [`${tally.repeats} repeats`] : []),
  ];
  const rate = Math.round((done + failed + unknown) / Math.max(seconds, 0.001));
  return `${linesIn(tally)} lines: ${parts.join(', ')} (${seconds.toFixed(1)} s, ${rate}/s)`;
}

/** How a batch ended. */
export interface Ending {
  readonly tally: Tally;
  readonly summary: string;
  /** Why no more lines were taken. */
  readonly stopped: string | undefined;
  /** Why those under way were ended. */
  readonly reason: unknown;
  /** It can be gone on with. */
  readonly isJournal: boolean;
}

/** The Failure that a batch is as a whole, or none where every line was answered. */
export function endOf({ tally, summary, stopped, reason, isJournal }: Ending): Failure | undefined {
  const { done, failed, unknown, unsent } = tally.counts;
  const code: FailureCode =
    reason instanceof Interrupted ? reason.code : stopped === 'interrupted' ? 'interrupted' : 'partial';
  if (code === 'partial' && failed + unknown + unsent === 0) return undefined;
  const isKnown = stopped === undefined || stopped === code;
  return new Failure(code, `${code === 'partial' ? '' : `${code}; `}${summary}${isKnown ? '' : `; ${stopped}`}`, {
    applied: unknown > 0 ? 'unknown' : done > 0 ? 'yes' : 'no',
    hint: [...(unknown > 0 ? [unknownText(tally)] : []), nextText(unknown > 0, isJournal)].join('; '),
  });
}

function unknownText({ unknown }: Tally): string {
  return `lines that may have been applied: ${rangesText([...unknown].sort((left, right) => left - right))}`;
}

function nextText(isUnknown: boolean, isJournal: boolean): string {
  if (!isJournal) return 'with -o a batch can be gone on with';
  return isUnknown
    ? '--resume --retry-unknown sends them again'
    : '--resume sends what is missing, and what failed and was not applied';
}
