import type { Destination } from '../../call/destination.ts';
import type { Context } from '../../cli/context.ts';
import { failureOf } from '../../errors.ts';
import { beginJob, type Settle } from '../../ledger/guard.ts';
import type { Outcome } from '../../ledger/job.ts';
import { ledgerFile } from '../../ledger/ledger.ts';
import { dataFolder } from '../../profiles/folders.ts';
import type { TrainingFacts } from './facts.ts';

/** Stands between a training job and the service, so that the same job is not sent twice by mistake. */
export interface JobGuard {
  /** Lets a job leave. Throws Failure `guard` where the same job was sent before, and `local` where nobody can tell. */
  readonly begin: (facts: TrainingFacts) => Promise<void>;
  /** Keeps what became of the job, if it was let go. Where that fails the user is warned: the job is what matters. */
  readonly end: (outcome: Outcome) => Promise<void>;
}

/** The guard of one command, on the ledger in the data folder. */
export function jobGuard(
  { url, isLocal }: Destination,
  allowsDuplicate: boolean,
  { runtime, report }: Context,
): JobGuard {
  const target = isLocal || !url ? 'local' : url.origin + url.pathname;
  let settle: Settle | undefined;
  return {
    begin: async (facts) => {
      settle = await beginJob({ ...facts, target }, ledgerFile(dataFolder(runtime)), allowsDuplicate, runtime);
    },
    end: async (outcome) => {
      await settle?.(outcome).catch((error: unknown) =>
        report.warn(
          `what became of the job is not in the ledger, so the same job will be refused: ${failureOf(error).message}`,
        ),
      );
    },
  };
}
