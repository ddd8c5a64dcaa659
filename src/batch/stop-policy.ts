import { pluralize } from '../json/pluralize.ts';
import type { BatchOptions, MaxFailures } from './batch-options.ts';
import type { LineResult } from './line-result.ts';

/** Decides when a batch takes no more lines. */
export interface StopPolicy {
  /** Takes no more lines; the first reason is kept. */
  readonly stop: (reason: string) => void;
  /** The reason why no more lines are taken; undefined while they are. */
  readonly stopReason: () => string | undefined;
  /** Counts the outcome of a line, and stops the batch if the flags or the service require that. */
  readonly addOutcome: (outcome: LineOutcome) => void;
  /** As addOutcome, for a line whose outcome was counted before. */
  readonly reviseOutcome: (outcome: LineOutcome) => void;
}

type LineOutcome = Pick<LineResult, 'failure' | 'status'>;

// A longer Retry-After stops the batch: the rest is better sent later.
const MAX_BATCH_WAIT_MS = 60_000;

/** The policy of --fail-fast, --max-failures and Retry-After; `onStop` is called each time there is a reason to stop. */
export function createStopPolicy(
  { isFailFast, maxFailures }: Pick<BatchOptions, 'isFailFast' | 'maxFailures'>,
  onStop: () => void,
): StopPolicy {
  let stopReason: string | undefined;
  let failureCount = 0;
  let outcomeCount = 0;
  const stop: StopPolicy['stop'] = (reason) => {
    stopReason ??= reason;
    onStop();
  };
  const reviseOutcome: StopPolicy['reviseOutcome'] = ({ failure, status }) => {
    if (failure && isFailFast) stop('a line failed (--fail-fast)');
    if (failure && status !== 'unsent') failureCount += 1;
    if (exceedsMaxFailures(failureCount, outcomeCount, maxFailures))
      stop(`${failureCount} ${pluralize(failureCount, 'line')} failed (--max-failures)`);
    const retryAfterMs = failure?.facts.retryAfter ?? 0;
    if (retryAfterMs > MAX_BATCH_WAIT_MS) stop(`the service asks to wait ${Math.ceil(retryAfterMs / 1000)} s`);
  };
  return {
    stop,
    stopReason: () => stopReason,
    addOutcome: (outcome) => {
      if (outcome.status !== 'unsent') outcomeCount += 1;
      reviseOutcome(outcome);
    },
    reviseOutcome,
  };
}

// A percentage of few lines says little.
const MIN_LINES_FOR_PERCENTAGE = 20;

function exceedsMaxFailures(failed: number, lines: number, maxFailures: MaxFailures | undefined): boolean {
  if (!maxFailures || failed === 0) return false;
  const { limit, isPercentage } = maxFailures;
  if (!isPercentage) return failed > limit;
  return lines >= MIN_LINES_FOR_PERCENTAGE && (failed / lines) * 100 > limit;
}
