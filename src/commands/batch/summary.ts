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

/**
 * The Failure that a batch is as a whole, or none where every line was answered. `stopped` says why no more lines were
 * taken, `reason` why those under way were ended.
 */
export function endOf(
  tally: Tally,
  summary: string,
  stopped: string | undefined,
  reason: unknown,
): Failure | undefined {
  const { failed, unknown, unsent } = tally.counts;
  const code: FailureCode =
    reason instanceof Interrupted ? reason.code : stopped === 'interrupted' ? 'interrupted' : 'partial';
  if (code === 'partial' && failed + unknown + unsent === 0) return undefined;
  const isKnown = stopped === undefined || stopped === code;
  return new Failure(code, `${code === 'partial' ? '' : `${code}; `}${summary}${isKnown ? '' : `; ${stopped}`}`, {
    applied: unknown > 0 ? 'unknown' : 'no',
    hint: unknown > 0 ? unknownHint(tally) : '--resume sends again what is not done',
  });
}

function unknownHint({ unknown }: Tally): string {
  const lines = rangesText([...unknown].sort((left, right) => left - right));
  return `lines that may have been applied: ${lines}; --resume --retry-unknown sends them again`;
}
