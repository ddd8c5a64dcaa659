import { wrongBody } from '../../body/check.ts';
import { draftOf } from '../../body/draft.ts';
import { isIssue, readSource } from '../../body/source.ts';
import type { Context } from '../../cli/context.ts';
import type { Body } from '../../http/message.ts';
import { assembled, cutAtLists } from '../../trajectories/assembly.ts';
import { withheld } from '../../trajectories/measured.ts';
import { refuseOrWarn } from '../verdict.ts';
import { factsOf } from './facts.ts';
import type { Gathered } from './gather.ts';
import type { TrainingRequest } from './job.ts';
import { shellOf } from './whole.ts';

/**
 * The body of trajectories that can be read once only, sent as they come. Its end is given away when everything has
 * passed the checks and the guard; else the Failure is thrown, and the request is not complete.
 */
export function flowing(
  { built, trajectories, whole, files }: Gathered & { readonly trajectories: NonNullable<Gathered['trajectories']> },
  { given, strictness, guard }: TrainingRequest,
  { report }: Context,
): Body {
  const { content, checks } = trajectories;
  const parts = cutAtLists(built.draft.doc);
  const pieces = whole ? content.first(checks) : assembled(parts, () => content.first(checks));
  const draft = (): Gathered['built']['draft'] => {
    if (!whole) return built.draft;
    const { label, bytes, position, wrong } = shellOf(whole.named.label, whole.content, checks);
    const source = wrong ?? readSource(label, bytes);
    if (isIssue(source)) throw wrongBody([source]);
    return draftOf({ ...source, position: position ?? source.position }, '{}');
  };
  return {
    length: undefined,
    pieces: () =>
      withheld(pieces, async (measure) => {
        const shown = draft();
        await refuseOrWarn(shown, given.operation, built.unreadable, strictness, report, checks);
        await guard.begin(factsOf(measure, shown, checks, files));
      }),
  };
}
