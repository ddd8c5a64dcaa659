import type { Draft } from '../../body/draft.ts';
import type { Destination } from '../../call/destination.ts';
import type { Context } from '../../cli/context.ts';
import { measureOf } from '../../trajectories/measure-of.ts';
import type { Watch } from '../send.ts';
import { countsIn, factsOf } from './facts.ts';
import { jobGuard } from './guard.ts';

/** Guards training jobs that are lines of a file, each by itself: they stand in the ledger like all others. */
export function lineGuards(
  destination: Destination,
  allowsDuplicate: boolean,
  file: string,
  context: Context,
): (draft: Draft) => Watch {
  return (draft) => {
    const { begin, end } = jobGuard(destination, allowsDuplicate, context);
    return { begin: () => begin(factsOf(measureOf(draft.doc.bytes), draft, countsIn(draft), [file])), end };
  };
}
