import type { Line } from '../../batch/line.ts';
import { readLine } from '../../batch/line-body.ts';
import { lineDraft } from '../../batch/line-draft.ts';
import { wrongBody } from '../../body/check.ts';
import type { Draft } from '../../body/draft.ts';
import { isIssue } from '../../body/source.ts';
import type { Failure } from '../../errors.ts';
import type { Checks } from './job.ts';

/** The body of a line, or the Failure `body` where it may not be sent. */
export interface Ready {
  readonly draft: Draft | Failure;
  readonly customId: string | undefined;
}

/** Makes and checks the body of a line; `at` is the time it says. */
export async function readyLine(line: Line, at: number, { recipe, label, check, warn }: Checks): Promise<Ready> {
  const body = readLine(line, label, recipe.operation);
  const { customId } = body;
  const draft = await lineDraft(body, line.number, at, recipe);
  if (isIssue(draft)) return { draft: wrongBody([draft]), customId };
  const { warnings, failure } = check(draft, []);
  for (const warning of warnings) await warn(warning);
  return { draft: failure ?? draft, customId };
}
