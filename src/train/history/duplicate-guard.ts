import { Buffer } from 'node:buffer';
import { Failure } from '../../errors.ts';
import type { LockRuntime } from '../../files/file-lock.ts';
import { firstStringMember, getMember, rawText } from '../../json/json-node.ts';
import type { Runtime } from '../../runtime.ts';
import { withJobHistory } from './job-history.ts';
import { type JobStatus, jobStatus, type TrainingJobRecord } from './job-records.ts';
import { formatEndLine, formatStartLine, type JobOutcome, type JobSender, type TrainingJob } from './training-job.ts';

/** The part of the runtime that the guard needs. */
export type DuplicateGuardContext = LockRuntime & Pick<Runtime, 'now'>;

/** Jobs that may be sent again: all, none, or those that may have been applied. */
export type AllowedDuplicates = boolean | 'unknown';

/** Adds the outcome of a job to the history. Throws Failure `local` if it cannot be written. */
export type RecordOutcome = (outcome: JobOutcome) => Promise<void>;

/**
 * Records a job durably before it is sent. Throws Failure `guard` if the same job was applied before, may have been, or is
 * in flight, unless that duplicate is allowed; a job that was rejected or never sent does not count. Of many processes that
 * ask at once for the same job, only one may send it.
 */
export async function recordJobStart(
  job: TrainingJob,
  path: string,
  allowed: AllowedDuplicates,
  context: DuplicateGuardContext,
): Promise<RecordOutcome> {
  const { pid, host, now, randomBytes } = context;
  const sender: JobSender = { key: Buffer.from(randomBytes(8)).toString('hex'), pid, host };
  await withJobHistory(path, context, async ({ records, appendLine }) => {
    const failure = allowed === true ? undefined : duplicateFailure(job, records, allowed, context);
    if (failure) throw failure;
    await appendLine(formatStartLine(job, sender, now()));
  });
  return (outcome) =>
    withJobHistory(path, context, ({ appendLine }) => appendLine(formatEndLine(outcome, sender, now())));
}

// The last of several jobs, which the user is most likely to remember.
function duplicateFailure(
  job: TrainingJob,
  records: readonly TrainingJobRecord[],
  allowed: AllowedDuplicates,
  context: DuplicateGuardContext,
): Failure | undefined {
  const earlier = records.findLast((record) => {
    const status = jobStatus(record, context);
    return isSameJob(record, job) && status !== 'not-applied' && status !== allowed;
  });
  if (!earlier) return undefined;
  const id = firstStringMember(earlier.end, 'id');
  const { message, hint } = describeDuplicate(earlier, jobStatus(earlier, context));
  return new Failure('guard', `${message}; nothing was sent`, {
    hint: `${hint}to send it again, run svc train with --allow-duplicate`,
    applied: 'no',
    ids: id === undefined ? {} : { job: id },
  });
}

function isSameJob({ start }: TrainingJobRecord, { digest, target, model }: TrainingJob): boolean {
  return (
    firstStringMember(start, 'digest') === digest &&
    firstStringMember(start, 'target') === target &&
    firstStringMember(start, 'model_id') === model
  );
}

function describeDuplicate(
  { start }: TrainingJobRecord,
  status: JobStatus,
): { readonly message: string; readonly hint: string } {
  const when = firstStringMember(start, 'started_at');
  const pid = getMember(start, 'pid');
  const who = `process ${pid && rawText(pid)} on ${firstStringMember(start, 'host')}`;
  if (status === 'applied')
    return { message: `the same job was sent at ${when} and was applied`, hint: 'svc train log lists it; ' };
  if (status === 'in-flight')
    return { message: `the same job has been in flight since ${when}, in ${who}`, hint: 'wait for it; ' };
  return {
    message: `the same job was sent at ${when} by ${who}, and may have been applied`,
    hint: 'check the service first; ',
  };
}
