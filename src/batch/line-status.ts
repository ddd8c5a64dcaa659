import { isIdempotent } from '../client/idempotency.ts';
import type { AppliedState } from '../errors.ts';
import type { Operation } from '../operations/operation.ts';
import type { LineStatus } from './batch-counts.ts';
import type { IndexedEntry } from './line-index.ts';

/** How a line stands. */
export interface LineState {
  readonly status: LineStatus;
  /** It failed, and was or may have been applied. */
  readonly isUnresolved: boolean;
}

/** How a line with this outcome stands. */
export function classifyLine(exitCode: number, applied: AppliedState = 'no'): LineState {
  if (exitCode === 0) return { status: 'done', isUnresolved: false };
  return { status: applied === 'unknown' ? 'unknown' : 'failed', isUnresolved: applied !== 'no' };
}

/** Whether a line was applied, by what earlier times have left: its entry, or that it was declared and has none. */
export function priorOutcome(entry: IndexedEntry | undefined, inFlightSince: number | undefined): AppliedState {
  return entry?.applied ?? (inFlightSince === undefined ? 'no' : 'unknown');
}

/** True where a line may be sent: what was applied, or may have been, only where that does no harm or is wanted. */
export function canSendLine(
  applied: AppliedState,
  effect: Operation['effect'],
  { canRetryUnknown, isSameRun }: { readonly canRetryUnknown: boolean; readonly isSameRun: boolean },
): boolean {
  if (applied === 'no' || (applied === 'unknown' && canRetryUnknown)) return true;
  // What has another id would be another one.
  return isIdempotent(effect) && (effect === 'read' || isSameRun);
}
