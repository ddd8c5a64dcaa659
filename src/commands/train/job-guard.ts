import type { Destination } from '../../client/destination.ts';
import { dataDirectory } from '../../config/directories.ts';
import type { Context } from '../../context.ts';
import { toFailure } from '../../errors.ts';
import { type RecordOutcome, recordJobStart } from '../../train/history/duplicate-guard.ts';
import { jobHistoryFile } from '../../train/history/job-history.ts';
import type { TrainingFacts } from '../../train/history/training-facts.ts';
import type { JobOutcome } from '../../train/history/training-job.ts';

/** Stands between a training job and the service, so that the same job is not sent twice by mistake. */
export interface JobGuard {
  /** Lets a job leave. Throws Failure `guard` where the same job was sent before, and `local` where nobody can tell. */
  readonly begin: (facts: TrainingFacts) => Promise<void>;
  /** Keeps what became of the job, if it was let go. Where that fails the user is warned: the job is what matters. */
  readonly end: (outcome: JobOutcome) => Promise<void>;
}

/** The guard of one command, on the ledger in the data folder. */
export function createJobGuard(
  { url, isLocal }: Destination,
  allowsDuplicate: boolean,
  { runtime, report }: Context,
): JobGuard {
  const target = isLocal || !url ? 'local' : url.origin + url.pathname;
  let recordOutcome: RecordOutcome | undefined;
  return {
    begin: async (facts) => {
      recordOutcome = await recordJobStart(
        { ...facts, target },
        jobHistoryFile(dataDirectory(runtime)),
        allowsDuplicate,
        runtime,
      );
    },
    end: async (outcome) => {
      await recordOutcome?.(outcome).catch((error: unknown) =>
        report.warn(
          `what became of the job is not in the ledger, so the same job will be refused: ${toFailure(error).message}`,
        ),
      );
    },
  };
}
