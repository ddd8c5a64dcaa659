import type { Draft } from '../../body/draft.ts';
import type { Destination } from '../../call/destination.ts';
import type { Context } from '../../cli/context.ts';
import { type FlagValues, isOn } from '../../fields/flag.ts';
import type { Operation } from '../../operations/operation.ts';
import type { Watch } from '../send.ts';

/** Gives the body of a line whoever lets it leave and is told what became of it; none where lines need none. */
export type Guards = (draft: Draft) => Watch | undefined;

/** The guards of a batch: training jobs of lines stand in the ledger like all others; `label` names the file of lines. */
export async function guardsOf(
  operation: Operation,
  destination: Destination,
  flags: FlagValues,
  label: string,
  context: Context,
): Promise<Guards> {
  if (typeof operation.arguments?.as !== 'object') return () => undefined;
  const { lineGuards } = await import('../training/lines.ts');
  return lineGuards(destination, isOn(flags, 'allow-duplicate') === true, label, context);
}
