import { Buffer } from 'node:buffer';
import type { BatchJob, LineGuard } from '../../batch/run-line.ts';
import type { Draft } from '../../body/draft.ts';
import type { Settings } from '../../client/settings.ts';
import { recordedUrl } from '../../config/destination.ts';
import { dataDirectory } from '../../config/directories.ts';
import type { Context } from '../../context.ts';
import { toFailure } from '../../errors.ts';
import { firstStringMember, itemsAt, rootOf } from '../../json/json-node.ts';
import { writeJson } from '../../json/write-json.ts';
import {
  type AllowedDuplicates,
  createJobHistory,
  createTrainingJob,
  jobHistoryFile,
  jobStatus,
  type RequestOutcome,
  type TrainingJob,
} from '../../train/job-history.ts';
import { digestBytes } from '../../train/stream/upload.ts';

/**
 * The guard against sending a job twice by mistake: `onSend` throws what `begin` of the job history throws, except for the local
 * service, where a job costs nothing.
 */
export function createJobGuard(
  job: TrainingJob,
  allowed: AllowedDuplicates,
  { runtime, report }: Context,
  history = createJobHistory(jobHistoryFile(dataDirectory(runtime)), runtime),
): Pick<LineGuard, 'onSend' | 'onOutcome'> {
  let start: Promise<(outcome: RequestOutcome) => Promise<void>> | undefined;
  return {
    onSend: async () => {
      // A line that waits for the service starts again, as the same job.
      start ??= history.begin(job, job.target === 'local' || allowed);
      await start;
    },
    onOutcome: async (outcome) => {
      const recordOutcome = await start?.catch(() => undefined);
      const what = 'could not record the outcome of the job, so svc will refuse to send it again';
      // The job itself is done.
      await recordOutcome?.(outcome).catch((error: unknown) => report.warn(`${what}: ${toFailure(error).message}`));
    },
  };
}

/** The job of a body that is in memory; `files` are its names in the job history. */
export function jobOfBody(draft: Draft, files: readonly string[], { destination }: Settings): TrainingJob {
  const groups = itemsAt(rootOf(draft.doc), 'trajectory_groups');
  const trajectories = groups.reduce((sum, group) => sum + itemsAt(group, 'trajectories').length, 0);
  const counts = { groups: groups.length, trajectories };
  return createTrainingJob(digestBytes(draft.doc.bytes), draft, counts, files, recordedUrl(destination));
}

/** Guards each line of a batch as a training job of its own, in the same job history. */
export function createLineGuards(
  settings: Settings,
  allowsDuplicate: boolean,
  file: string,
  run: string,
  context: Context,
): NonNullable<BatchJob['guardFor']> {
  const { runtime } = context;
  const history = createJobHistory(jobHistoryFile(dataDirectory(runtime)), runtime);
  return (line, draft, mayBeApplied) => {
    const job = { ...jobOfBody(draft, [file], settings), run, line };
    return {
      ...createJobGuard(job, allowsDuplicate || (mayBeApplied && 'unknown'), context, history),
      knownResponse: async () => {
        const record = await history.find(job);
        if (!record || jobStatus(record, runtime) !== 'applied') return undefined;
        return Buffer.from(writeJson({ id: firstStringMember(record.end, 'id') ?? null }));
      },
    };
  };
}
