import type { Reporter } from '../output/reporter.ts';
import { formatLineRanges } from './line-ranges.ts';

/** Reports the warnings about the responses of a batch. */
export interface ResponseWarnings {
  readonly add: (line: number, warnings: readonly string[]) => Promise<void>;
  /** Lists the lines with warnings, where not all were printed. */
  readonly finish: () => Promise<void>;
}

// A service that mixes up one response may mix up all of them.
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
      const ranges = formatLineRanges(lines.sort((left, right) => left - right));
      const more = lineCount > lines.length ? ' and more' : '';
      await warn(`the responses of ${lineCount} lines have warnings: lines ${ranges}${more}`);
    },
  };
}
