import { createBodyCheck, type StreamedFinding, type Strictness } from '../body/body-check.ts';
import type { Draft } from '../body/draft.ts';
import { kindOf, nodeAtPath, rootOf } from '../json/json-node.ts';
import type { Operation } from '../operations/operation.ts';
import { issueText } from '../output/failure-text.ts';
import type { Reporter } from '../output/reporter.ts';
import type { TrajectoryChecks } from '../train/stream/checks.ts';
import type { TrajectoryContent } from '../train/stream/groups.ts';

/** Checks a body, and its trajectories if it has any: reports the warnings, and throws Failure `body` if it must not be sent. */
export async function enforceChecks(
  draft: Draft,
  operation: Operation,
  strictness: Strictness,
  report: Pick<Reporter, 'warn'>,
  trajectories?: TrajectoryContent,
): Promise<void> {
  const trajectoryChecks = trajectories?.checks;
  const check = await createBodyCheck(operation, strictness);
  const { warnings, failure } = check(
    { ...draft, issues: [...draft.issues, ...(trajectoryChecks?.structureErrors() ?? [])] },
    trajectoryChecks && [...trajectoryChecks.findings(), ...emptyGroupWarnings(draft, trajectoryChecks)],
    trajectories?.sources.map(({ label }) => label),
  );
  for (const warning of warnings) await report.warn(issueText(warning));
  if (failure) throw failure.with({ hint: trajectoryChecks?.hint() ?? failure.facts.hint });
}

// Services accept jobs that contain no training signal (docs/servers.md).
function emptyGroupWarnings(draft: Draft, trajectoryChecks: TrajectoryChecks): StreamedFinding[] {
  const groups = nodeAtPath(rootOf(draft.doc), ['trajectory_groups']);
  if (!groups || kindOf(groups) !== 'list') return [];
  if (trajectoryChecks.groupCount() > 0 || trajectoryChecks.structureErrors().length > 0) return [];
  const message = 'contains no group, so the job contains no training signal';
  return [{ level: 'warning', path: 'trajectory_groups', at: '', message }];
}
