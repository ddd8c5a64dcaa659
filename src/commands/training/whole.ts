import { givesMembers } from '../../body/base.ts';
import type { Given, Named } from '../../body/given.ts';
import { namedStdin } from '../../body/given.ts';
import type { Context } from '../../cli/context.ts';
import { usage } from '../../errors.ts';
import type { Checks } from '../../trajectories/checks.ts';
import { type Measure, measure } from '../../trajectories/measured.ts';
import { documentOf } from '../../trajectories/shell.ts';
import type { TextSource } from '../../trajectories/source.ts';
import { trainingBody } from '../../trajectories/training.ts';
import { UnreadableText } from '../../trajectories/unreadable-text.ts';
import type { WholeContent } from '../../trajectories/whole-content.ts';
import { showChecking } from './checking.ts';

/** A whole body of a training job, read for the first time unless that can be done once only. */
export interface Whole {
  /** What of it is no trajectory, for making a draft of it. */
  readonly named: Named;
  readonly content: WholeContent;
  readonly checks: Checks;
  /** What all of it measures, if it was read. */
  readonly measure: Measure | undefined;
}

/** Reads a whole body for the first time. Throws usage where flags would change one that can be read once only. */
export async function readWhole(
  source: TextSource,
  { operation, args, flags }: Given,
  context: Context,
): Promise<Whole> {
  const { content, checks } = trainingBody(source);
  if (source.isOnce) {
    if (args.length > 0 || givesMembers(operation, flags))
      throw usage(`with --no-spool ${source.label} goes as it is`, 'leave out --no-spool, or the flags that change it');
    return { named: { label: source.label, bytes: Buffer.from('{}') }, content, checks, measure: undefined };
  }
  const { told, end } = showChecking({ content, checks }, context);
  const measured = await measure(content.first(checks), told).finally(end);
  if (measured.bytes === 0 && source.label === 'stdin')
    return { named: namedStdin(Buffer.alloc(0)), content, checks: trainingBody(source).checks, measure: undefined };
  return { named: shellOf(source.label, content, checks), content, checks, measure: measured };
}

/** The body without its trajectories, which can be read when all of it has passed. */
export function shellOf(label: string, content: WholeContent, checks: Checks): Named {
  const { bytes, placeAt } = content.shell();
  const [broken] = checks.broken();
  if (broken) return { label, bytes, wrong: broken };
  try {
    documentOf({ bytes, placeAt });
    return { label, bytes, position: placeAt };
  } catch (error) {
    if (!(error instanceof UnreadableText)) throw error;
    return { label, bytes, wrong: { path: '', at: error.at(label), message: error.message } };
  }
}
