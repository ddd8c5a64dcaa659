import { invalidBodyFailure } from '../body/body-check.ts';
import type { Draft } from '../body/draft.ts';
import { isIssue } from '../body/json-source.ts';
import type { Failure } from '../errors.ts';
import type { LineChecks } from './batch-job.ts';
import { readLineBody } from './line-body.ts';
import { createLineDraft, type LineKey } from './line-draft.ts';
import type { InputLine } from './split-lines.ts';

/** The body of a line, or the Failure `body` where it may not be sent. */
export interface PreparedLine {
  readonly draft: Draft | Failure;
  /** JSON. */
  readonly customId: string | undefined;
}

/** Makes and checks the body of a line; `timestampMs` is the time that it says. */
export async function prepareLine(
  line: InputLine,
  key: Omit<LineKey, 'line'>,
  { draftOptions, label, check, onWarning, customIds }: LineChecks,
): Promise<PreparedLine> {
  const body = readLineBody(line, label, draftOptions.operation);
  const { customId, isIdInBody } = body;
  if (customId !== undefined) await customIds.addLine(line.number, customId, isIdInBody);
  const draft = await createLineDraft(body, { ...key, line: line.number }, draftOptions);
  if (isIssue(draft)) return { draft: invalidBodyFailure([draft]), customId };
  const { warnings, failure } = check(draft, []);
  for (const warning of warnings) await onWarning(warning);
  return { draft: failure ?? draft, customId };
}
