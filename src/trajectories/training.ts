import { remarksOf } from '../fields/judge.ts';
import type { Path } from '../json/path.ts';
import { type Checks, newChecks } from './checks.ts';
import type { Content } from './content.ts';
import { filesContent } from './files-content.ts';
import { groupedContent } from './grouped-content.ts';
import { groupBy } from './grouping.ts';
import type { TextSource } from './source.ts';
import { type WholeContent, wholeContent } from './whole-content.ts';

/** Trajectories and the checks they pass. */
export interface Checked<T extends Content = Content> {
  readonly content: T;
  readonly checks: Checks;
}

/** The groups in some files; with a path the trajectories in them, grouped by the value there. */
export function trainingFiles(sources: readonly TextSource[], path: Path | undefined): Checked {
  const grouping =
    path &&
    groupBy(
      path,
      sources.some(({ isOnce }) => isOnce),
    );
  const content = grouping ? groupedContent(sources, grouping) : filesContent(sources);
  return { content, checks: newChecks(remarksOf, grouping) };
}

/** The groups in a whole body. */
export function trainingBody(source: TextSource): Checked<WholeContent> {
  return { content: wholeContent(source), checks: newChecks(remarksOf, undefined) };
}
