import { Buffer } from 'node:buffer';
import { Failure } from '../../errors.ts';
import type { LockRuntime } from '../../files/file-lock.ts';
import { firstStringMember, getMember, rawText } from '../../json/json-node.ts';
import type { Runtime } from '../../runtime.ts';
import { withJobHistory } from './job-history.ts';
import type { TrainingJobRecord } from './job-records.ts';
import { type JobStatus, jobStatus } from './job-status.ts';
import { formatEndLine, formatStartLine, type JobOutcome, type JobSender, type TrainingJob } from './training-job.ts';

/** What the guard needs of the world. */
export type DuplicateGuardContext = LockRuntime & Pick<Runtime, 'now'>;

/** Tells the ledger what became of a job that was begun. Throws Failure `local` where it cannot be written. */
export type RecordOutcome = (outcome: JobOutcome) => Promise<void>;

/**
 * Enters a job in a ledger, durably, so that it may leave. Throws Failure `guard` where the same job was applied before,
 * may have been, or is under way, unless duplicates are allowed; one that was refused or did not leave is no reason.
 * Of many processes that ask at once for the same job only one may send it.
 */
export async function recordJobStart(
  job: TrainingJob,
  path: string,
  allowsDuplicate: boolean,
  context: DuplicateGuardContext,
): Promise<RecordOutcome> {
  const { pid, host, now, randomBytes } = context;
  const sender: JobSender = { key: Buffer.from(randomBytes(8)).toString('hex'), pid, host };
  await withJobHistory(path, context, async ({ records, appendLine }) => {
    const failure = allowsDuplicate ? undefined : duplicateFailure(job, records, context);
    if (failure) throw failure;
    await appendLine(formatStartLine(job, sender, now()));
  });
  return (outcome) =>
    withJobHistory(path, context, ({ appendLine }) => appendLine(formatEndLine(outcome, sender, now())));
}

// Of several the last is told, which is the one a user remembers.
function duplicateFailure(
  job: TrainingJob,
  records: readonly TrainingJobRecord[],
  context: DuplicateGuardContext,
): Failure | undefined {
  const earlier = records.findLast((record) => isSameJob(record, job) && jobStatus(record, context) !== 'not-applied');
  if (!earlier) return undefined;
  const id = firstStringMember(earlier.end, 'id');
  const { message, hint } = describeDuplicate(earlier, jobStatus(earlier, context));
  return new Failure('guard', `${message}; nothing was sent`, {
    hint: `${hint}--allow-duplicate sends it all the same`,
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
    return { message: `the same job was sent at ${when} and was applied`, hint: 'svc train log shows it; ' };
  if (status === 'under-way')
    return { message: `the same job is under way since ${when}, in ${who}`, hint: 'wait for it; ' };
  return {
    message: `the same job was sent at ${when} by ${who}, and whether it was applied is not known`,
    hint: 'look at the service first; ',
  };
}
