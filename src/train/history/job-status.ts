import { firstStringMember, getMember, rawText } from '../../json/json-node.ts';
import type { Runtime } from '../../runtime.ts';
import type { TrainingJobRecord } from './job-records.ts';

/** The outcome of a job. `under-way`: none yet, and the process that sends it is running on this machine. */
export type JobStatus = 'applied' | 'not-applied' | 'unknown' | 'under-way';

/** The outcome of a job as far as this machine knows. A job without an outcome and without a process may have been applied. */
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
