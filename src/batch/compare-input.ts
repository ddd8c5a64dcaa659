import { Failure } from '../errors.ts';
import { pluralize } from '../json/pluralize.ts';
import type { BatchInput } from './batch-input.ts';
import type { IndexedEntry } from './line-index.ts';
import { formatLineRanges } from './line-ranges.ts';
import type { PriorResults } from './prior-results.ts';
import { digestLine } from './seal.ts';
import { isInShard, type Shard } from './shard.ts';
import { type InputLine, isEmptyLine } from './split-lines.ts';

/** The digest of an input line; for a line longer than svc reads, only its length counts. */
export function digestInputLine({ bytes, length }: InputLine): string {
  return digestLine(bytes ?? new TextEncoder().encode(`a line of ${length} bytes`));
}

/**
 * Compares an input with the one that earlier runs had, and returns the differences that were accepted. Throws Failure
 * `guard` if lines changed or were removed, unless changes are accepted; added lines are fine. Results of svc 0.1 get the
 * digests of their input lines, in the index.
 */
export async function compareInput(input: BatchInput, shard: Shard, prior: PriorResults): Promise<InputDifferences> {
  const { lineIndex } = prior;
  // The input of svc 0.1 is taken as unchanged, which the user confirmed.
  const onLegacyEntry = (line: number, entry: IndexedEntry, digest: string): void =>
    lineIndex.set(line, { ...entry, digest });
  const differences = await findInputDifferences(input, shard, prior, onLegacyEntry);
  const hint = 'restore the input, choose another file with -o, or send the changed lines with --accept-changes';
  const failure = otherInputFailure(differences, input.label, prior.displayPath, hint);
  if (failure && !prior.canAcceptChanges) throw failure;
  return differences;
}

/** The warning about results that `--accept-changes` removes; undefined if it removes none. */
export function removedResultsWarning(
  removedLines: ReadonlySet<number>,
  label: string,
  { lineIndex, displayPath }: PriorResults,
): string | undefined {
  const lines = [...removedLines].filter((line) => lineIndex.get(line));
  const count = lines.length;
  if (count === 0) return undefined;
  const results = `${count} ${pluralize(count, 'result')} from ${displayPath}`;
  return `--accept-changes removes ${results}: ${pluralize(count, 'line')} ${formatLineRanges(lines)} ${pluralize(count, 'is', 'are')} no longer in ${label}`;
}

/** The differences between an input and results. */
export interface InputDifferences {
  readonly changedLines: readonly number[];
  /** Lines that have a result, and are empty or beyond the end of the input. */
  readonly removedLines: ReadonlySet<number>;
  readonly emptyLines: ReadonlySet<number>;
  readonly lastLine: number;
}

/** Compares the lines of an input with the digests of results; added lines are no difference. */
export async function findInputDifferences(
  input: BatchInput,
  shard: Shard,
  { lineIndex, inFlight, inFlightLine }: Pick<PriorResults, 'lineIndex' | 'inFlight' | 'inFlightLine'>,
  onLegacyEntry: (line: number, entry: IndexedEntry, digest: string) => void = () => {},
): Promise<InputDifferences> {
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
    const entry = lineIndex.get(line.number);
    const known = inFlightLine(line.number)?.digest ?? entry?.digest;
    if (known !== undefined && known !== digestInputLine(line)) changedLines.push(line.number);
    else if (entry && entry.digest === undefined) onLegacyEntry(line.number, entry, digestInputLine(line));
  }
  const removedLines = new Set<number>();
  for (const lines of [lineIndex.lines(), inFlight?.lines.keys() ?? []])
    for (const line of lines) if (line > lastLine || emptyLines.has(line)) removedLines.add(line);
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
