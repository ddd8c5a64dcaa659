import type { Issue } from '../../errors.ts';
import { issueText } from '../../output/failure.ts';
import type { Report } from '../../output/report.ts';

// A mistake in one line is likely in all of them, and a file has millions.
const MOST = 20;

/** Tells the first 20 warnings, and with the last of them that there may be more. */
export function someWarnings({ warn, note }: Report): (warning: Issue) => Promise<void> {
  let told = 0;
  return async (warning) => {
    told += 1;
    const place = told;
    if (place <= MOST) await warn(issueText(warning));
    if (place === MOST)
      await note('further warnings are not shown; --dry-run --strict counts the lines that have some');
  };
}
