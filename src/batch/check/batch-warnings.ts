import type { Issue } from '../../errors.ts';
import { issueText } from '../../output/failure-text.ts';
import type { Reporter } from '../../output/reporter.ts';
import { formatLineRanges } from '../../output/transfer-text.ts';

// A mistake in one line is likely in all lines, and a file has millions.
const MAX_WARNINGS = 20;
// If a service mixes up one response, it can mix up all.
const MAX_PRINTED_LINES = 5;
const MAX_LISTED_LINES = 1000;
// The ids of a whole file would need too much memory.
const MAX_TRACKED_IDS = 100_000;

export type BatchWarnings = ReturnType<typeof createBatchWarnings>;

/** Limits the warnings about the lines of a batch. A line may be checked twice, and is warned about once. */
export function createBatchWarnings(label: string, { warn, note }: Pick<Reporter, 'warn' | 'note'>) {
  const bodyWarnings = new Set<string>();
  const lineOfId = new Map<string, number>();
  const duplicateLines = new Set<number>();
  const suspectLines: number[] = [];
  let hasIdInBody = false;
  let hasListedIds = false;
  return {
    addBodyWarning: async (warning: Issue): Promise<void> => {
      const text = issueText(warning);
      // A warning about a flag has the same text for each line.
      if (bodyWarnings.size === MAX_WARNINGS || bodyWarnings.has(text)) return;
      bodyWarnings.add(text);
      const isLast = bodyWarnings.size === MAX_WARNINGS;
      await warn(text);
      if (isLast)
        await note('further warnings are not shown; run with --dry-run --strict to count lines with warnings');
    },
    /** `id` is JSON; `isInBody`: the line is a body, and not a line of an OpenAI batch. */
    addCustomId: async (line: number, id: string, isInBody: boolean): Promise<void> => {
      const firstLine = lineOfId.get(id) ?? line;
      if (lineOfId.size < MAX_TRACKED_IDS) lineOfId.set(id, firstLine);
      if (firstLine !== line && duplicateLines.size < MAX_LISTED_LINES) duplicateLines.add(firstLine).add(line);
      if (!isInBody || hasIdInBody) return;
      hasIdInBody = true;
      await warn(`${label}:${line} custom_id: svc uses it as the id of the result and does not send it`);
    },
    addResponseWarnings: async (line: number, warnings: readonly string[]): Promise<void> => {
      if (warnings.length === 0) return;
      suspectLines.push(line);
      if (suspectLines.length <= MAX_PRINTED_LINES)
        for (const warning of warnings) await warn(`line ${line}: ${warning}`);
    },
    /** Lists the lines that share a `custom_id`, and those whose responses have warnings if not all were printed. */
    finish: async (): Promise<void> => {
      const lines = formatLineRanges(duplicateLines);
      if (lines !== '' && !hasListedIds)
        await warn(`${label}: lines share a custom_id, so the id of a result names several lines: ${lines}`);
      hasListedIds ||= lines !== '';
      const count = suspectLines.length;
      if (count > MAX_PRINTED_LINES)
        await warn(`the responses of ${count} lines have warnings: lines ${formatLineRanges(suspectLines)}`);
    },
  };
}
