import type { Buffer } from 'node:buffer';
import type { Failure } from '../../errors.ts';
import type { createBatchRecord } from '../../reports/batch/batch-statistics.ts';
import type { LineResult } from '../../reports/batch/line-facts.ts';
import type { BatchWarnings } from '../check/prepare-line.ts';
import { formatResult, type LineIdentity } from '../store/result-line.ts';
import type { ResultStore } from '../store/result-store.ts';
import type { Scheduler } from './scheduler.ts';

/** The result of a line that stray data on its connection takes back: its response may be for another request. */
export interface StoredLine {
  readonly identity: LineIdentity;
  readonly result: LineResult;
  readonly response: Buffer | undefined;
  readonly written: Promise<void>;
  readonly createDoubt: () => Failure;
}

export type Revisions = ReturnType<typeof createRevisions>;

/** Takes back results until they count; `onError` gets the errors of storing that. */
export function createRevisions(
  { warnings, store }: { readonly warnings: BatchWarnings; readonly store: ResultStore },
  record: ReturnType<typeof createBatchRecord>,
  { addOutcome }: Pick<Scheduler, 'addOutcome'>,
  redact: (text: string) => string,
  onError: (error: unknown) => void,
) {
  const pending: Promise<void>[] = [];
  let isFinished = false;
  const revise = ({ identity, result, response, written, createDoubt }: StoredLine): void => {
    const { line, revision } = identity;
    const failure = createDoubt();
    record.revise(line, failure, result);
    addOutcome({ failure, status: 'unknown' }, true);
    const warned = warnings.addResponseWarnings(line, [failure.facts.summary ?? failure.message]);
    const bytes = formatResult({ ...identity, revision: revision + 1 }, { ...result, failure }, response, redact);
    const revised = written.then(() => store.revise(bytes));
    pending.push(Promise.all([revised, warned]).then(() => {}, onError));
  };
  return {
    /** Watches a line: stray data may arrive before or after its result is stored. */
    watch: (strayData: Promise<void>) => {
      let hasStrayData = false;
      let stored: StoredLine | undefined;
      const reviseOnce = (): void => {
        if (isFinished || !hasStrayData || !stored) return;
        revise(stored);
        stored = undefined;
      };
      void strayData.then(() => {
        hasStrayData = true;
        reviseOnce();
      });
      return {
        hasStrayData: () => hasStrayData,
        keep: (line: StoredLine): void => {
          stored = line;
          reviseOnce();
        },
      };
    },
    /** From now on the results count. Waits until the revised ones are stored. */
    finish: async (): Promise<void> => {
      isFinished = true;
      await Promise.all(pending);
    },
  };
}
