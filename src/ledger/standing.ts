import { member, stringIn, textOf } from '../json/node.ts';
import type { Runtime } from '../runtime.ts';
import type { Entry } from './entries.ts';

/** What is known of a job. `under-way`: it has no outcome yet, and the process that sends it is running here. */
export type Standing = 'applied' | 'not-applied' | 'unknown' | 'under-way';

/** What is known of a job as far as this machine can tell. What began and has neither outcome nor process may have been applied. */
export function standingOf({ start, end }: Entry, { host, isRunning }: Pick<Runtime, 'host' | 'isRunning'>): Standing {
  const applied = stringIn(end, 'applied');
  if (applied !== undefined) return applied === 'yes' ? 'applied' : applied === 'no' ? 'not-applied' : 'unknown';
  const pid = member(start, 'pid');
  const isRunningHere = pid !== undefined && stringIn(start, 'host') === host && isRunning(Number(textOf(pid)));
  return isRunningHere ? 'under-way' : 'unknown';
}
