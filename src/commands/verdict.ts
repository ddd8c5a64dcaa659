import { checkerOf, type Strictness } from '../body/check.ts';
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
  const { warnings, failure } = check(draft, wrong, passed?.findings());
  for (const warning of warnings) await report.warn(issueText(warning));
  if (failure) throw new Failure(failure.code, failure.message, { ...failure.facts, hint: passed?.hint() });
}
