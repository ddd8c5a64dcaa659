import type { Reporter } from '../output/reporter.ts';
import { formatLineRanges } from './line-ranges.ts';

/** Watches the `custom_id` of all lines; each kind of finding is reported once per batch. */
export interface CustomIdTracker {
  /** `id` is JSON; `isInBody`: the line is a body, and not a line of an OpenAI batch. */
  readonly addLine: (line: number, id: string, isInBody: boolean) => Promise<void>;
  /** Reports duplicates. */
  readonly finish: () => Promise<void>;
}

// A file can have millions of lines, whose ids would all have to be kept in memory.
const MAX_TRACKED_IDS = 100_000;
const MAX_LISTED_LINES = 1000;

/** A tracker of the lines of `label`. */
export function createCustomIdTracker(label: string, { warn }: Pick<Reporter, 'warn'>): CustomIdTracker {
  const lineOfId = new Map<string, number>();
  const duplicateLines = new Set<number>();
  let hasWarned = false;
  return {
    addLine: async (line, id, isInBody) => {
      const earlierLine = lineOfId.get(id);
      if (earlierLine !== undefined && duplicateLines.size < MAX_LISTED_LINES)
        duplicateLines.add(earlierLine).add(line);
      else if (lineOfId.size < MAX_TRACKED_IDS) lineOfId.set(id, line);
      if (!isInBody || hasWarned) return;
      hasWarned = true;
      await warn(`${label}:${line} custom_id: svc uses it as the id of the result and does not send it`);
    },
    finish: async () => {
      if (duplicateLines.size === 0) return;
      const lines = formatLineRanges(duplicateLines);
      await warn(`${label}: lines share a custom_id, so the id of a result names several lines: ${lines}`);
    },
  };
}
