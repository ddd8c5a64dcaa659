import type { Issue } from '../../errors.ts';
import { formatLineRanges } from '../../files/split-lines.ts';
import { issueText } from '../../output/failure-text.ts';
import type { Reporter } from '../../output/reporter.ts';

// A mistake in one line is likely in all lines, and a file has millions.
const MAX_WARNINGS = 20;
// If a service mixes up one response, it can mix up all.
const MAX_PRINTED_LINES = 5;
const MAX_LISTED_LINES = 1000;
// The ids of a whole file would need too much memory.
const MAX_TRACKED_IDS = 100_000;

export type BatchWarnings = ReturnType<typeof createBatchWarnings>;

/** Limits the warnings about the lines of a batch. A line may be checked twice, and is warned about once. */
export function createBatchWarnings(label: string, report: Pick<Reporter, 'warn' | 'note'> | undefined) {
  const bodyWarnings = new Set<string>();
  const lineOfId = new Map<string, number>();
  // Of ids that several lines have.
  const duplicates = new Map<string, Set<number>>();
  let duplicateCount = 0;
  const suspectLines: number[] = [];
  let hasListedIds = false;
  return {
    addBodyWarning: async (warning: Issue): Promise<void> => {
      const text = issueText(warning);
      // A warning about a flag has the same text for each line.
      if (bodyWarnings.size === MAX_WARNINGS || bodyWarnings.has(text)) return;
      bodyWarnings.add(text);
      const isLast = bodyWarnings.size === MAX_WARNINGS;
      await report?.warn(text);
      if (isLast)
        await report?.note('further warnings are not shown; run with --dry-run --strict to count lines with warnings');
    },
    /** `id` is JSON. */
    addCustomId: (line: number, id: string): void => {
      const firstLine = lineOfId.get(id) ?? line;
      if (lineOfId.size < MAX_TRACKED_IDS) lineOfId.set(id, firstLine);
      if (firstLine === line || duplicateCount === MAX_LISTED_LINES) return;
      const lines = duplicates.get(id) ?? new Set([firstLine]);
      if (!lines.has(line)) duplicateCount += 1;
      duplicates.set(id, lines.add(line));
    },
    addResponseWarnings: async (line: number, warnings: readonly string[]): Promise<void> => {
      if (warnings.length === 0) return;
      suspectLines.push(line);
      if (suspectLines.length <= MAX_PRINTED_LINES)
        for (const warning of warnings) await report?.warn(`line ${line}: ${warning}`);
    },
    /** Lists the lines that share a `custom_id`, and those whose responses have warnings if not all were printed. */
    finish: async (): Promise<void> => {
      const listed = Array.from(duplicates, ([id, lines]) => `${id} in lines ${formatLineRanges(lines)}`);
      const more = listed.length > MAX_PRINTED_LINES ? `; and ${listed.length - MAX_PRINTED_LINES} more` : '';
      const ids = listed.slice(0, MAX_PRINTED_LINES).join('; ') + more;
      if (ids !== '' && !hasListedIds)
        await report?.warn(`${label}: lines share a custom_id, so the id of a result names several: ${ids}`);
      hasListedIds ||= ids !== '';
      const count = suspectLines.length;
      if (count > MAX_PRINTED_LINES)
        await report?.warn(`the responses of ${count} lines have warnings: lines ${formatLineRanges(suspectLines)}`);
    },
  };
}
