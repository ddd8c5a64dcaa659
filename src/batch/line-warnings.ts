import type { Issue } from '../errors.ts';
import { issueText } from '../output/failure-text.ts';
import type { Reporter } from '../output/reporter.ts';
import { formatLineRanges } from './batch-summary.ts';

// A mistake in one line is likely in all lines, and a file has millions.
const MAX_WARNINGS = 20;

/** Prints the first 20 different warnings, and after the last a note that there may be more. */
export function createWarningLimiter({ warn, note }: Reporter): (warning: Issue) => Promise<void> {
  const printed = new Set<string>();
  return async (warning) => {
    const text = issueText(warning);
    // A warning about a flag has the same text for each line.
    if (printed.size === MAX_WARNINGS || printed.has(text)) return;
    printed.add(text);
    const isLast = printed.size === MAX_WARNINGS;
    await warn(text);
    if (isLast) await note('further warnings are not shown; run with --dry-run --strict to count lines with warnings');
  };
}

/** Reports the warnings about the responses of a batch. */
export interface ResponseWarnings {
  readonly add: (line: number, warnings: readonly string[]) => Promise<void>;
  /** Lists the lines with warnings, if not all were printed. */
  readonly finish: () => Promise<void>;
}

// If a service mixes up one response, it can mix up all.
const MAX_PRINTED_LINES = 5;
const MAX_LISTED_LINES = 1000;

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

/** Watches the `custom_id` of all lines; each kind of finding is reported once per batch. */
export interface CustomIdTracker {
  /** `id` is JSON; `isInBody`: the line is a body, and not a line of an OpenAI batch. */
  readonly addLine: (line: number, id: string, isInBody: boolean) => Promise<void>;
  /** Reports duplicates. */
  readonly finish: () => Promise<void>;
}

// A file can have millions of lines, whose ids would all have to be kept in memory.
const MAX_TRACKED_IDS = 100_000;

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
