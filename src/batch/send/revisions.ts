import type { Buffer } from 'node:buffer';
import type { Failure } from '../../errors.ts';
import type { BatchRecord } from '../../reports/batch/batch-statistics.ts';
import type { LineResult } from '../../reports/batch/line-facts.ts';
import type { BatchWarnings } from '../check/batch-warnings.ts';
import { formatResult, type LineKey } from '../store/result-line.ts';
import type { ResultStore } from '../store/result-store.ts';
import type { Scheduler } from './scheduler.ts';

export interface StrayDataWatch {
  readonly hasStrayData: () => boolean;
  readonly keep: (line: StoredLine) => void;
}

/** The result of a line that stray data on its connection takes back: its response may be for another request. */
export interface StoredLine {
  readonly lineKey: LineKey;
  readonly result: LineResult;
  readonly response: Buffer | undefined;
  readonly written: Promise<void>;
  readonly createDoubt: () => Failure;
}

/** Takes back results until they count; `onError` gets the errors of storing that. */
export function createRevisions(
  warnings: BatchWarnings,
  store: Pick<ResultStore, 'revise'>,
  record: Pick<BatchRecord, 'revise'>,
  { addOutcome }: Pick<Scheduler, 'addOutcome'>,
  redact: (text: string) => string,
  onError: (error: unknown) => void,
) {
  const pending: Promise<void>[] = [];
  let isFinished = false;
  const revise = ({ lineKey, result, response, written, createDoubt }: StoredLine): void => {
    const { line, revision } = lineKey;
    const failure = createDoubt();
    record.revise(line, failure, result);
    addOutcome({ failure, status: 'unknown' }, true);
    const warned = warnings.addResponseWarnings(line, [failure.facts.summary ?? failure.message]);
    const bytes = formatResult({ ...lineKey, revision: revision + 1 }, { ...result, failure }, response, redact);
    const revised = written.then(() => store.revise(bytes));
    pending.push(Promise.all([revised, warned]).then(() => {}, onError));
  };
  return {
    watch: (strayData: Promise<void>): StrayDataWatch => {
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
        keep: (line) => {
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
