import { Failure, type Issue } from '../errors.ts';
import type { Finding } from '../fields/finding.ts';
import { rootOf } from '../json/node.ts';
import { formatPath } from '../json/path.ts';
import type { Operation } from '../operations/operation.ts';
import { type Draft, placeInDraft } from './draft.ts';

/** How strictly findings are taken. */
export interface Strictness {
  /** Warnings are errors. */
  readonly strict: boolean;
  /** Errors of the interface are warnings; what is not JSON stays an error. */
  readonly noCheck: boolean;
}

/** What there is to say about a body; with a failure it must not be sent. */
export interface Checked {
  readonly warnings: readonly Issue[];
  readonly failure: Failure | undefined;
}

/** What was found in a part of the body that is not in the draft, because it only passed. */
export interface PassedFinding extends Issue {
  readonly level: Finding['level'];
  readonly more?: number | undefined;
}

/** Judges a body; `unreadable`: what flags and files gave that could not become part of it. */
export type Check = (
  draft: Draft,
  unreadable: readonly (Issue & Pick<PassedFinding, 'more'>)[],
  passed?: readonly PassedFinding[],
) => Checked;

/** What judges the bodies of an operation: their warnings, and a Failure `body` with every error at once. */
export async function checkerOf({ body }: Operation, { strict, noCheck }: Strictness): Promise<Check> {
  const { judgeOf } = await import('../fields/judge.ts');
  const judge = judgeOf(body);
  const isError = ({ level }: PassedFinding): boolean => (level === 'error' ? !noCheck : strict);
  return (draft, unreadable, passed = []) => {
    // What could not be read is not missing as well.
    const told = judge(rootOf(draft.doc))
      .filter(({ code, path }) => code !== 'missing' || !unreadable.some((issue) => issue.path === formatPath(path)))
      .map(({ level, more, ...finding }) => ({ level, more, ...issueOf(draft, finding) }));
    const all = [...told, ...passed];
    const errors = [...unreadable, ...all.filter(isError)];
    const more = errors.reduce((sum, finding) => sum + (finding.more ?? 0), 0);
    return {
      warnings: all.filter((finding) => !isError(finding)),
      failure: errors.length > 0 ? wrongBody(errors, more) : undefined,
    };
  };
}

/** The failure of a body with these issues, and more that are not told one by one. */
export function wrongBody(issues: readonly Issue[], more = 0): Failure {
  const places = issues.length + more;
  const count = places === 1 ? 'the body is wrong' : `the body is wrong in ${places} places`;
  return new Failure('body', `${count}; nothing was sent`, { issues, applied: 'no' });
}

function issueOf(draft: Draft, { path, message }: Pick<Finding, 'path' | 'message'>): Issue {
  return { path: formatPath(path), at: placeInDraft(draft, path), message };
}
