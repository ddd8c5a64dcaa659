import type { Issue } from '../errors.ts';
import { issueText } from '../output/failure-text.ts';
import type { Reporter } from '../output/reporter.ts';

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
