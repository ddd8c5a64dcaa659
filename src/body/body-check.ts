import { Failure, type Issue } from '../errors.ts';
import type { Finding } from '../fields/finding.ts';
import { rootOf } from '../json/json-node.ts';
import { formatJsonPath } from '../json/json-path.ts';
import type { Operation } from '../operations/operation.ts';
import { type Draft, locationInDraft } from './draft.ts';
import { sortIssuesByLocation } from './sort-issues.ts';

/** How strictly findings are taken. */
export interface Strictness {
  /** Warnings are errors. */
  readonly strict: boolean;
  /** Errors of the interface are warnings; what is not JSON stays an error. */
  readonly noCheck: boolean;
}

/** What there is to say about a body; with a failure it must not be sent. */
export interface BodyCheckResult {
  readonly warnings: readonly Issue[];
  readonly failure: Failure | undefined;
}

/** What was found in a part of the body that is not in the draft, because it only passed. */
export interface StreamedFinding extends Issue {
  readonly level: Finding['level'];
  readonly more?: number | undefined;
}

/** Judges a body; `unreadable`: what flags and files gave that could not become part of it. */
export type BodyCheck = (
  draft: Draft,
  unreadable: readonly (Issue & Pick<StreamedFinding, 'more'>)[],
  passed?: readonly StreamedFinding[],
) => BodyCheckResult;

/** What judges the bodies of an operation: their warnings, and a Failure `body` with every error at once. */
export async function createBodyCheck({ body }: Operation, { strict, noCheck }: Strictness): Promise<BodyCheck> {
  const { createBodyValidator } = await import('../fields/body-validator.ts');
  const validate = createBodyValidator(body);
  const isError = ({ level }: StreamedFinding): boolean => (level === 'error' ? !noCheck : strict);
  return (draft, inputIssues, streamedFindings = []) => {
    // What could not be read is not missing as well.
    const findings = validate(rootOf(draft.doc))
      .filter(
        ({ code, path }) => code !== 'missing' || !inputIssues.some((issue) => issue.path === formatJsonPath(path)),
      )
      .map(({ level, more, ...finding }) => ({ level, more, ...findingToIssue(draft, finding) }));
    // Without streamed findings they are in order, with flags and files as the draft has them.
    const isStreamed = streamedFindings.length > 0;
    const all = isStreamed ? sortIssuesByLocation([...findings, ...streamedFindings]) : findings;
    const unsorted = [...inputIssues, ...all.filter(isError)];
    const errors = isStreamed ? sortIssuesByLocation(unsorted) : unsorted;
    const more = errors.reduce((sum, finding) => sum + (finding.more ?? 0), 0);
    return {
      warnings: all.filter((finding) => !isError(finding)),
      failure: errors.length > 0 ? invalidBodyFailure(errors, more) : undefined,
    };
  };
}

/** The failure of a body with these issues, and more that are not told one by one. */
export function invalidBodyFailure(issues: readonly Issue[], more = 0): Failure {
  const errorCount = issues.length + more;
  const count = errorCount === 1 ? 'the body is wrong' : `the body is wrong in ${errorCount} places`;
  return new Failure('body', `${count}; nothing was sent`, { issues, applied: 'no' });
}

function findingToIssue(draft: Draft, { path, message }: Pick<Finding, 'path' | 'message'>): Issue {
  return { path: formatJsonPath(path), at: locationInDraft(draft, path), message };
}
