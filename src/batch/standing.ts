import { isHarmless } from '../call/effect.ts';
import type { Applied } from '../errors.ts';
import type { Operation } from '../operations/operation.ts';
import type { Found } from './table.ts';
import type { Verdict } from './tally.ts';

/** How a line stands. */
export interface Standing {
  readonly verdict: Verdict;
  /** It failed, and was or may have been applied. */
  readonly isOpen: boolean;
}

/** How a line with this outcome stands. */
export function standing(exitCode: number, applied: Applied = 'no'): Standing {
  if (exitCode === 0) return { verdict: 'done', isOpen: false };
  return { verdict: applied === 'unknown' ? 'unknown' : 'failed', isOpen: applied !== 'no' };
}

/** Whether a line was applied, by what earlier times have left: its entry, or that it was declared and has none. */
export function appliedBefore(found: Found | undefined, declared: number | undefined): Applied {
  return found?.applied ?? (declared === undefined ? 'no' : 'unknown');
}

/** True where a line may be sent: what was applied, or may have been, only where that does no harm or is wanted. */
export function mayBeSent(
  applied: Applied,
  effect: Operation['effect'],
  { isUnknownRepeated, isSameRun }: { readonly isUnknownRepeated: boolean; readonly isSameRun: boolean },
): boolean {
  if (applied === 'no' || (applied === 'unknown' && isUnknownRepeated)) return true;
  // What has another id would be another one.
  return isHarmless(effect) && (effect === 'read' || isSameRun);
}
