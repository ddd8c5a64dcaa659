import type { Issue } from '../errors.ts';
import { issueText } from '../output/failure-text.ts';
import type { Reporter } from '../output/reporter.ts';
import { formatLineRanges } from './line-ranges.ts';

// A mistake in one line is likely in all lines, and a file has millions.
const MAX_WARNINGS = 20;

/** Prints the first 20 warnings, and after the last a note that there may be more. */
export function createWarningLimiter({ warn, note }: Reporter): (warning: Issue) => Promise<void> {
  let warningCount = 0;
  return async (warning) => {
    warningCount += 1;
    const position = warningCount;
    if (position <= MAX_WARNINGS) await warn(issueText(warning));
    if (position === MAX_WARNINGS)
      await note('further warnings are not shown; run with --dry-run --strict to count lines with warnings');
  };
}

/** Watches the `custom_id` of all lines; each kind of finding is reported once per batch. */
export interface CustomIdTracker {
  /** `id` is JSON; `isInBody`: the line is a body, and not a line of an OpenAI batch. */
  readonly addLine: (line: number, id: string, isInBody: boolean) => Promise<void>;
  /** Reports duplicates. */
  readonly finish: () => Promise<void>;
}

// A file has millions of lines, and the ids of all of them would have to be held.
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

/** Reports the warnings about the responses of a batch. */
export interface ResponseWarnings {
  readonly add: (line: number, warnings: readonly string[]) => Promise<void>;
  /** Lists the lines with warnings, where not all were printed. */
  readonly finish: () => Promise<void>;
}

// If a service mixes up one response, it can mix up all.
const MAX_PRINTED_LINES = 5;

/** Prints the warnings of the first 5 lines, and at the end the numbers of all lines with warnings. */
export function createResponseWarnings({ warn }: Pick<Reporter, 'warn'>): ResponseWarnings {
  const lines: number[] = [];
  let lineCount = 0;
  return {
    add: async (line, warnings) => {
      if (warnings.length === 0) return;
      lineCount += 1;
      const isPrinted = lineCount <= MAX_PRINTED_LINES;
      if (lines.length < MAX_LISTED_LINES) lines.push(line);
      if (isPrinted) for (const warning of warnings) await warn(`line ${line}: ${warning}`);
    },
    finish: async () => {
      if (lineCount <= MAX_PRINTED_LINES) return;
      const ranges = formatLineRanges(lines);
      const more = lineCount > lines.length ? ' and more' : '';
      await warn(`the responses of ${lineCount} lines have warnings: lines ${ranges}${more}`);
    },
  };
}
