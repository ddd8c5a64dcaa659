import { Failure } from '../errors.ts';
import { pluralize } from '../json/pluralize.ts';
import { type BatchInput, selectedLines } from './batch-input.ts';
import type { BatchOptions } from './batch-options.ts';
import { formatLineRanges } from './line-ranges.ts';
import type { LineTable } from './line-table.ts';
import { digestInputLine } from './result-line.ts';

/** The differences between an input and what outputs and journals say about its lines. */
export interface InputDifferences {
  readonly changedLines: readonly number[];
  /** Lines that have a result or a record, and are empty or beyond the end of the input. */
  readonly removedLines: ReadonlySet<number>;
  readonly emptyLines: ReadonlySet<number>;
  readonly lastLine: number;
}

/** Compares the lines of an input with the digests that are known; lines after them are no difference. */
export async function findInputDifferences(
  input: BatchInput,
  selection: Pick<BatchOptions, 'shard'>,
  table: LineTable,
): Promise<InputDifferences> {
  const changedLines: number[] = [];
  const emptyLines = new Set<number>();
  let lastLine = 0;
  const lines = selectedLines(input, selection, {
    onRead: ({ number }) => {
      lastLine = number;
    },
    onEmpty: ({ number }) => emptyLines.add(number),
  });
  for await (const line of lines) {
    const known = table.sent(line.number)?.digest ?? table.result(line.number)?.digest;
    if (known !== undefined && known !== digestInputLine(line)) changedLines.push(line.number);
  }
  const removedLines = new Set<number>();
  for (const line of table.knownLines()) if (line > lastLine || emptyLines.has(line)) removedLines.add(line);
  return { changedLines, removedLines, emptyLines, lastLine };
}

/** The Failure `guard` of an input that does not match the results; undefined without differences. */
export function otherInputFailure(
  { changedLines, removedLines }: InputDifferences,
  label: string,
  results: string,
  hint: string,
): Failure | undefined {
  if (changedLines.length + removedLines.size === 0) return undefined;
  const parts = [
    ...(changedLines.length > 0 ? [`changed lines: ${formatLineRanges(changedLines)}`] : []),
    ...(removedLines.size > 0 ? [`removed lines: ${formatLineRanges(removedLines)}`] : []),
  ];
  const message = `${label} is not the input that ${results} was made from: ${parts.join('; ')}`;
  return new Failure('guard', message, { hint, applied: 'no' });
}

/** The warning about results that `--accept-changes` removes; undefined if it removes none. */
export function removedResultsWarning(
  removedLines: ReadonlySet<number>,
  label: string,
  table: LineTable,
  displayPath: string,
): string | undefined {
  const lines = [...removedLines].filter((line) => table.result(line));
  const count = lines.length;
  if (count === 0) return undefined;
  const results = `${count} ${pluralize(count, 'result')} from ${displayPath}`;
  return `--accept-changes removes ${results}: ${pluralize(count, 'line')} ${formatLineRanges(lines)} ${pluralize(count, 'is', 'are')} no longer in ${label}`;
}
