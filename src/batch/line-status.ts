import { isIdempotent } from '../client/request.ts';
import type { AppliedState } from '../errors.ts';
import type { Operation } from '../operations/operation.ts';
import type { LineStatus } from './batch-counts.ts';
import type { PriorLine } from './result-store.ts';

/** The status of a line. */
export interface LineState {
  readonly status: LineStatus;
  /** The line failed, and was or may have been applied. */
  readonly isUnresolved: boolean;
}

/** The status of a line with this outcome. */
export function classifyLine(exitCode: number, applied: AppliedState = 'no'): LineState {
  if (exitCode === 0) return { status: 'done', isUnresolved: false };
  return { status: applied === 'unknown' ? 'unknown' : 'failed', isUnresolved: applied !== 'no' };
}

/**
 * Whether earlier runs applied a line, by the first rule that matches: a result says so; the last record of its journal says
 * that it was sent; a result of a failure; neither, so it was never sent.
 */
export function priorOutcome({ entry, sentAtMs }: PriorLine): AppliedState {
  if (entry?.applied === 'yes') return 'yes';
  return sentAtMs !== undefined ? 'unknown' : (entry?.applied ?? 'no');
}

/** True for a line that may be sent: one that was or may have been applied only if that is safe or wanted. */
export function canSendLine(prior: PriorLine, effect: Operation['effect'], canRetryUnknown: boolean): boolean {
  const applied = priorOutcome(prior);
  if (applied === 'no' || (applied === 'unknown' && canRetryUnknown)) return true;
  // Without the time of its first request, it would be another call.
  return isIdempotent(effect) && (effect === 'read' || Boolean(prior.sentAtMs));
}
