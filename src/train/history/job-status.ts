import { firstStringMember, getMember, rawText } from '../../json/json-node.ts';
import type { Runtime } from '../../runtime.ts';
import type { TrainingJobRecord } from './job-records.ts';

/** What is known of a job. `under-way`: it has no outcome yet, and the process that sends it is running here. */
export type JobStatus = 'applied' | 'not-applied' | 'unknown' | 'under-way';

/** What is known of a job as far as this machine can tell. What began and has neither outcome nor process may have been applied. */
export function jobStatus(
  { start, end }: TrainingJobRecord,
  { host, isRunning }: Pick<Runtime, 'host' | 'isRunning'>,
): JobStatus {
  const applied = firstStringMember(end, 'applied');
  if (applied !== undefined) return applied === 'yes' ? 'applied' : applied === 'no' ? 'not-applied' : 'unknown';
  const pid = getMember(start, 'pid');
  const isRunningHere =
    pid !== undefined && firstStringMember(start, 'host') === host && isRunning(Number(rawText(pid)));
  return isRunningHere ? 'under-way' : 'unknown';
}
