import type { JsonPath } from '../../json/json-node.ts';
import { type BodyContent, bodyContent } from './body-content.ts';
import { filesContent } from './files-content.ts';
import { groupedContent } from './grouped-content.ts';
import { createGrouping } from './grouping.ts';
import type { TextSource } from './text-source.ts';
import { createTrajectoryChecks, type TrajectoryChecks } from './trajectory-checks.ts';
import type { TrajectoryContent } from './trajectory-content.ts';

/** Trajectories and the checks they pass. */
export interface CheckedContent<T extends TrajectoryContent = TrajectoryContent> {
  readonly content: T;
  readonly checks: TrajectoryChecks;
}

/** The groups in some files; with a path, the trajectories in them, grouped by the value there. */
export function checkedFilesContent(sources: readonly TextSource[], path: JsonPath | undefined): CheckedContent {
  const grouping = path && createGrouping(path);
  const content = grouping ? groupedContent(sources, grouping) : filesContent(sources);
  return { content, checks: createTrajectoryChecks(grouping) };
}

/** The groups in a whole body. */
export function checkedBodyContent(source: TextSource): CheckedContent<BodyContent> {
  return { content: bodyContent(source), checks: createTrajectoryChecks(undefined) };
}
