import type { LineObservers } from '../../batch/batch-job.ts';
import type { Destination } from '../../client/destination.ts';
import type { Context } from '../../context.ts';
import { type FlagValues, getBooleanFlag } from '../../flag.ts';
import type { Operation } from '../../operations/operation.ts';

/** The observers of a batch: training jobs of lines are recorded in the job history; `label` names the input. */
export async function createLineObservers(
  operation: Operation,
  destination: Destination,
  flags: FlagValues,
  label: string,
  context: Context,
): Promise<LineObservers> {
  if (typeof operation.arguments?.as !== 'object') return () => undefined;
  const { createLineObserver } = await import('../train/job-guard.ts');
  return createLineObserver(destination, getBooleanFlag(flags, 'allow-duplicate') === true, label, context);
}
