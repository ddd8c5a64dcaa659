import { checkerOf, type PassedFinding, type Strictness } from '../body/check.ts';
import type { Draft } from '../body/draft.ts';
import { Failure, type Issue } from '../errors.ts';
import type { Operation } from '../operations/operation.ts';
import { issueText } from '../output/failure.ts';
import type { Report } from '../output/report.ts';
import type { Checks } from '../trajectories/checks.ts';

/** Judges a body, with the trajectories that passed, if it has any: tells the warnings, and throws Failure `body` where it must not be sent. */
export async function refuseOrWarn(
  draft: Draft,
  operation: Operation,
  unreadable: readonly Issue[],
  strictness: Strictness,
  report: Report,
  passed?: Checks,
): Promise<void> {
  const wrong = [...unreadable, ...(passed?.broken() ?? [])];
  const check = await checkerOf(operation, strictness);
  const { warnings, failure } = check(draft, wrong, passed && [...passed.findings(), ...emptiness(passed)]);
  for (const warning of warnings) await report.warn(issueText(warning));
  if (failure) throw new Failure(failure.code, failure.message, { ...failure.facts, hint: passed?.hint() });
}

// A service takes a job that can train on nothing (SERVERS.md).
function emptiness(passed: Checks): PassedFinding[] {
  if (passed.groups() > 0 || passed.broken().length > 0) return [];
  return [
    { level: 'warning', path: 'trajectory_groups', at: '', message: 'has no group, so nothing can be trained on' },
  ];
}
