import { Failure } from '../errors.ts';
import type { BatchInput } from './batch-input.ts';
import { formatLineRanges } from './line-ranges.ts';
import type { PriorResults } from './prior-results.ts';
import { digestLine } from './seal.ts';
import { isInShard, type Shard } from './shard.ts';
import { type InputLine, isEmptyLine } from './split-lines.ts';

/** The digest of an input line; of one that is longer than svc reads, only its length counts. */
export function digestInputLine({ bytes, length }: InputLine): string {
  return digestLine(bytes ?? new TextEncoder().encode(`a line of ${length} bytes`));
}

/**
 * Compares an input with the one that earlier runs had, and returns the lines whose results have no input line any more.
 * Throws Failure `guard` where lines changed or were removed, unless changes are accepted; added lines are fine.
 */
export async function compareInput(
  input: BatchInput,
  shard: Shard,
  { lineIndex, inFlight, inFlightLine, displayPath, canAcceptChanges }: PriorResults,
): Promise<ReadonlySet<number>> {
  const changedLines: number[] = [];
  const emptyLines = new Set<number>();
  let lastLine = 0;
  for await (const line of input.lines) {
    lastLine = line.number;
    if (!isInShard(line.number, shard)) continue;
    if (isEmptyLine(line)) {
      emptyLines.add(line.number);
      continue;
    }
    const known = inFlightLine(line.number)?.digest ?? lineIndex.get(line.number)?.digest;
    if (known !== undefined && known !== digestInputLine(line)) changedLines.push(line.number);
  }
  const removedLines = new Set<number>();
  for (const lines of [lineIndex.lines(), inFlight?.lines.keys() ?? []])
    for (const line of lines) if (line > lastLine || emptyLines.has(line)) removedLines.add(line);
  if (canAcceptChanges || changedLines.length + removedLines.size === 0) return removedLines;
  const parts = [
    ...(changedLines.length > 0 ? [`changed lines: ${formatLineRanges(changedLines)}`] : []),
    ...(removedLines.size > 0 ? [`removed lines: ${formatLineRanges(removedLines)}`] : []),
  ];
  throw new Failure('guard', `${input.label} is not the input that ${displayPath} was made from: ${parts.join('; ')}`, {
    hint: 'restore the input, choose another file with -o, or send the changed lines with --accept-changes',
    applied: 'no',
  });
}
