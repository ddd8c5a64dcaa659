import type { Draft } from '../body/draft.ts';
import type { Destination } from '../client/destination.ts';
import type { RequestObserver } from '../client/request-observer.ts';
import type { Context } from '../context.ts';
import { type FlagValues, getBooleanFlag } from '../flag.ts';
import type { Operation } from '../operations/operation.ts';

/** Makes the observer of a line from its body; undefined where lines need none. */
export type LineObservers = (draft: Draft) => RequestObserver | undefined;

/** The observers of a batch: training jobs of lines are recorded in the job history; `label` names the input. */
export async function createLineObservers(
  operation: Operation,
  destination: Destination,
  flags: FlagValues,
  label: string,
  context: Context,
): Promise<LineObservers> {
  if (typeof operation.arguments?.as !== 'object') return () => undefined;
  const { createLineObserver } = await import('../commands/train/line-observer.ts');
  return createLineObserver(destination, getBooleanFlag(flags, 'allow-duplicate') === true, label, context);
}
