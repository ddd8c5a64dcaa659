import type { Draft } from '../body/draft.ts';
import type { Destination } from '../client/destination.ts';
import type { RequestObserver } from '../client/request-observer.ts';
import type { Context } from '../context.ts';
import { type FlagValues, getBooleanFlag } from '../flag.ts';
import type { Operation } from '../operations/operation.ts';

/** Gives the body of a line whoever lets it leave and is told what became of it; none where lines need none. */
export type LineObservers = (draft: Draft) => RequestObserver | undefined;

/** The guards of a batch: training jobs of lines stand in the ledger like all others; `label` names the file of lines. */
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
