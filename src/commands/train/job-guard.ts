import type { LineObservers } from '../../batch/batch-job.ts';
import type { Destination } from '../../client/destination.ts';
import { dataDirectory } from '../../config/directories.ts';
import type { Context } from '../../context.ts';
import { toFailure } from '../../errors.ts';
import { type AllowedDuplicates, type RecordOutcome, recordJobStart } from '../../train/history/duplicate-guard.ts';
import { jobHistoryFile } from '../../train/history/job-history.ts';
import { countTrajectories, createTrainingFacts, type TrainingFacts } from '../../train/history/training-facts.ts';
import type { JobOutcome } from '../../train/history/training-job.ts';
import { digestBytes } from '../../train/stream/body-digest.ts';

/** Prevents the same training job from being sent twice by mistake. */
export interface JobGuard {
  /** Records a job before it is sent. Throws Failure `guard` if the same job was sent before, and `local` if svc cannot know. */
  readonly begin: (facts: TrainingFacts) => Promise<void>;
  /** Records the outcome of a job that was sent. A failure is a warning, because the job itself is done. */
  readonly end: (outcome: JobOutcome) => Promise<void>;
}

/** The guard of one command, on the job history in the data directory. */
export function createJobGuard(
  { url, isLocal }: Destination,
  allowed: AllowedDuplicates,
  { runtime, report }: Context,
): JobGuard {
  const target = isLocal || !url ? 'local' : url.origin + url.pathname;
  const file = jobHistoryFile(dataDirectory(runtime));
  let start: Promise<RecordOutcome> | undefined;
  return {
    begin: async (facts) => {
      start = recordJobStart({ ...facts, target }, file, allowed, runtime);
      await start;
    },
    end: async (outcome) => {
      const recordOutcome = await start?.catch(() => undefined);
      await recordOutcome?.(outcome).catch((error: unknown) =>
        report.warn(
          `could not record the outcome of the job, so svc will refuse to send it again: ${toFailure(error).message}`,
        ),
      );
    },
  };
}

/** Guards each line of a batch as a training job of its own, in the same job history. */
export function createLineObserver(
  destination: Destination,
  allowsDuplicate: boolean,
  file: string,
  context: Context,
): LineObservers {
  return (draft, mayBeApplied) => {
    const { begin, end } = createJobGuard(destination, allowsDuplicate || (mayBeApplied && 'unknown'), context);
    return {
      onSend: () => begin(createTrainingFacts(digestBytes(draft.doc.bytes), draft, countTrajectories(draft), [file])),
      onOutcome: end,
    };
  };
}
