import type { Reporter } from '../output/reporter.ts';
import { formatLineRanges } from './line-ranges.ts';

/** Reports the warnings about the responses of a batch. */
export interface ResponseWarnings {
  readonly add: (line: number, warning: string) => Promise<void>;
  /** Lists the lines with warnings, where not all were printed. */
  readonly finish: () => Promise<void>;
}

// A service that mixes up one response may mix up all of them.
const MAX_PRINTED_WARNINGS = 5;
const MAX_LISTED_LINES = 1000;

/** Prints the first 5 warnings with their lines, and lists the lines of all at the end. */
export function createResponseWarnings({ warn }: Pick<Reporter, 'warn'>): ResponseWarnings {
  const lines = new Set<number>();
  let count = 0;
  return {
    add: async (line, warning) => {
      count += 1;
      if (lines.size < MAX_LISTED_LINES) lines.add(line);
      if (count <= MAX_PRINTED_WARNINGS) await warn(`line ${line}: ${warning}`);
    },
    finish: async () => {
      if (count <= MAX_PRINTED_WARNINGS) return;
      const ranges = formatLineRanges([...lines].sort((left, right) => left - right));
      await warn(`${count} warnings about responses, lines ${ranges}`);
    },
  };
}
