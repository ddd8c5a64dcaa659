import type { JunitReport } from '../client/expectations/junit-report.ts';
import type { InputLine } from '../files/split-lines.ts';
import { getMember, kindOf, rawText, stringOf } from '../json/json-node.ts';
import { tryParseJson } from '../json/parse-json.ts';
import { type BatchCounts, countLine, createBatchCounts } from './batch-counts.ts';
import { addResult, type BatchStatistics, createBatchStatistics } from './batch-statistics.ts';
import type { LineResult, LineRevision } from './line-result.ts';

/** The record of a batch's results: counts, statistics, and the cases of the JUnit report. */
export interface BatchRecord {
  readonly tally: BatchCounts;
  readonly statistics: BatchStatistics;
  readonly add: (line: InputLine, result: LineResult) => void;
  /** Corrects a line that was added: its outcome is unknown after all. */
  readonly revise: (revision: LineRevision) => void;
}

/** An empty record. */
export function createBatchRecord(junit: JunitReport | undefined): BatchRecord {
  const tally = createBatchCounts();
  const statistics = createBatchStatistics();
  return {
    tally,
    statistics,
    add: (input, result) => {
      const line = input.number;
      tally.retries += Math.max(0, result.attempts - 1);
      countLine(tally, line, result.status);
      if (result.isUnresolved) tally.unresolvedLines += 1;
      if (result.isUnresolved && result.isIdempotent)
        tally[result.status === 'unknown' ? 'resendableLines' : 'resendableFailures'] += 1;
      if (result.status === 'unsent') return;
      if (result.attempts > 0) tally.sentLines += 1;
      addResult(statistics, { line, ...result });
      junit?.add(line, caseName(input), result.milliseconds, result.failure);
    },
    revise: ({ line, failure, earlier }) => {
      tally.byStatus[earlier.status] -= 1;
      countLine(tally, line, 'unknown');
      if (!earlier.isUnresolved) tally.unresolvedLines += 1;
      const facts = { httpStatus: undefined, attempts: 0, milliseconds: 0, response: undefined };
      addResult(statistics, { line, status: 'unknown', message: failure.message, ...facts });
      junit?.revise(line, failure);
    },
  };
}

// From the input, because the results of earlier runs are not read again.
function caseName({ number, bytes }: InputLine): string {
  const id = bytes && getMember(tryParseJson(bytes), 'custom_id');
  if (id && kindOf(id) === 'string') return stringOf(id);
  return id && kindOf(id) === 'number' ? rawText(id) : `line ${number}`;
}
