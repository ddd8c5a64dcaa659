import { Buffer } from 'node:buffer';
import type { BatchJob, LineGuard } from '../../batch/batch-job.ts';
import type { Draft } from '../../body/draft.ts';
import type { Settings } from '../../client/settings.ts';
import { dataDirectory } from '../../config/directories.ts';
import type { Context } from '../../context.ts';
import { toFailure } from '../../errors.ts';
import { firstStringMember } from '../../json/json-node.ts';
import { writeJson } from '../../json/write-json.ts';
import {
  type AllowedDuplicates,
  countTrajectories,
  createJobHistory,
  createTrainingFacts,
  type JobOutcome,
  jobHistoryFile,
  jobStatus,
  type TrainingFacts,
} from '../../train/job-history.ts';
import { digestBytes } from '../../train/stream/upload.ts';

/**
 * The guard against sending a job twice by mistake, the local service aside, on the job history in the data directory. `onSend` records the job; it throws Failure `safety_check` if the same
 * job was sent before, and `local_file` if svc cannot know. `onOutcome` warns if it cannot record the outcome, because the job itself is done.
 */
export function createJobGuard(
  facts: TrainingFacts,
  settings: Settings,
  allowed: AllowedDuplicates,
  { runtime, report }: Context,
  history = createJobHistory(jobHistoryFile(dataDirectory(runtime)), runtime),
): Pick<LineGuard, 'onSend' | 'onOutcome'> {
  let start: Promise<(outcome: JobOutcome) => Promise<void>> | undefined;
  return {
    onSend: async () => {
      start = history.begin({ ...facts, target: jobTarget(settings) }, settings.destination?.isLocal ? true : allowed);
      await start;
    },
    onOutcome: async (outcome) => {
      const recordOutcome = await start?.catch(() => undefined);
      await recordOutcome?.(outcome).catch((error: unknown) =>
        report.warn(
          `could not record the outcome of the job, so svc will refuse to send it again: ${toFailure(error).message}`,
        ),
      );
    },
  };
}

/** Guards a request whose whole body is in memory; `file` is its name in the job history. */
export function createBodyGuard(
  draft: Draft,
  file: string,
  settings: Settings,
  context: Context,
): Pick<LineGuard, 'onSend' | 'onOutcome'> {
  return createJobGuard(factsOfBody(draft, file), settings, false, context);
}

function factsOfBody(draft: Draft, file: string): TrainingFacts {
  return createTrainingFacts(digestBytes(draft.doc.bytes), draft, countTrajectories(draft), [file]);
}

/** Guards each line of a batch as a training job of its own, in the same job history. */
export function createLineGuards(
  settings: Settings,
  allowsDuplicate: boolean,
  file: string,
  run: string,
  context: Context,
): BatchJob['guardFor'] {
  const { runtime } = context;
  const history = createJobHistory(jobHistoryFile(dataDirectory(runtime)), runtime);
  return (line, draft, mayBeApplied) => {
    const facts = { ...factsOfBody(draft, file), run, line };
    return {
      ...createJobGuard(facts, settings, allowsDuplicate || (mayBeApplied && 'unknown'), context, history),
      knownResponse: async () => {
        const record = await history.find({ ...facts, target: jobTarget(settings) });
        if (!record || jobStatus(record, runtime) !== 'applied') return undefined;
        return Buffer.from(writeJson({ id: firstStringMember(record.end, 'id') ?? null }));
      },
    };
  };
}

function jobTarget({ destination }: Settings): string {
  return !destination || destination.isLocal ? 'local' : destination.url.origin + destination.url.pathname;
}
