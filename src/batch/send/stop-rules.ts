import { pluralize } from '../../output/transfer-text.ts';
import type { LineResult } from '../../reports/batch/line-facts.ts';
import type { BatchOptions } from '../batch-options.ts';

type LineOutcome = Pick<LineResult, 'failure' | 'status'>;

interface StopCondition {
  /** It counts from 0 again when the batch is resumed. */
  readonly isLimit: boolean;
  /** The reason to stop, if there is one; called after each outcome, which the counts include. */
  readonly findReason: (outcome: LineOutcome, failures: number, outcomes: number) => string | undefined;
}

// A longer Retry-After stops the batch: the rest is better sent later.
const MAX_BATCH_WAIT_MS = 60_000;
const MIN_LINES_FOR_PERCENTAGE = 20;

/** The conditions of the flags that stop a batch because of its outcomes; with one, fewer requests are in flight at once. */
export function stopConditions({ isFailFast, maxFailures }: StopOptions): StopCondition[] {
  const conditions: readonly (StopCondition | false | undefined)[] = [
    isFailFast && { isLimit: false, findReason: ({ failure }) => failure && 'a line failed (--fail-fast)' },
    maxFailures && {
      isLimit: true,
      findReason: (_, failures, outcomes) => {
        const isCounted = maxFailures.isPercentage ? outcomes >= MIN_LINES_FOR_PERCENTAGE : failures > 0;
        const count = maxFailures.isPercentage ? (failures / outcomes) * 100 : failures;
        if (!isCounted || count <= maxFailures.limit) return undefined;
        return `${failures} ${pluralize(failures, 'line')} failed (--max-failures)`;
      },
    },
  ];
  return conditions.flatMap((one) => one || []);
}

type StopOptions = Pick<BatchOptions, 'isFailFast' | 'maxFailures'>;

/** Counts the outcome of a line, or its revision, and stops the batch if the flags or the service require that. */
export function createStopRules(options: StopOptions, stop: (reason: string) => void) {
  const conditions = stopConditions(options);
  let [failures, outcomes] = [0, 0];
  let hasReachedLimit = false;
  return {
    addOutcome: (outcome: LineOutcome, isRevised = false): void => {
      const { failure, status } = outcome;
      if (status !== 'unsent' && !isRevised) outcomes += 1;
      if (failure && status !== 'unsent') failures += 1;
      for (const { isLimit, findReason } of conditions) {
        const reason = findReason(outcome, failures, outcomes);
        if (reason === undefined) continue;
        hasReachedLimit ||= isLimit;
        stop(reason);
      }
      const retryAfterMs = failure?.facts.retryAfterMs ?? 0;
      if (retryAfterMs > MAX_BATCH_WAIT_MS) stop(`the service asks to wait ${Math.ceil(retryAfterMs / 1000)} s`);
    },
    hasReachedLimit: (): boolean => hasReachedLimit,
  };
}
