import { isHarmless } from '../call/effect.ts';
import type { Applied } from '../errors.ts';
import type { Operation } from '../operations/operation.ts';
import type { Found } from './table.ts';
import type { Verdict } from './tally.ts';

/** Whether a line was applied, by what earlier times have left: its entry, or that it was declared and has none. */
export function standing(found: Found | undefined, declared: number | undefined): Applied {
  return found?.applied ?? (declared === undefined ? 'no' : 'unknown');
}

/** True where a line that stands so may be sent: what was applied, or may have been, only where that does no harm or is wanted. */
export function mayBeSent(applied: Applied, effect: Operation['effect'], isUnknownRepeated: boolean): boolean {
  return isHarmless(effect) || applied === 'no' || (applied === 'unknown' && isUnknownRepeated);
}

/** How a line with this outcome is counted. */
export function verdictOf(exitCode: number, applied: Applied): Verdict {
  if (exitCode === 0) return 'done';
  return applied === 'unknown' ? 'unknown' : 'failed';
}
