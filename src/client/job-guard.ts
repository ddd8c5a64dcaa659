import { Buffer } from 'node:buffer';
import type { Draft } from '../body/draft.ts';
import { recordedUrl } from '../config/destination.ts';
import { dataDirectory } from '../config/environment.ts';
import type { Context } from '../context.ts';
import { type RequestOutcome, toFailure } from '../errors.ts';
import { formatByteSize } from '../files/byte-size.ts';
import { firstStringMember, getMember, itemsAt, type JsonDocument, rootOf } from '../json/json-node.ts';
import { compactJson, writeJson } from '../json/write-json.ts';
import { redactNamedSecrets } from '../output/redaction.ts';
import { pluralize } from '../output/transfer-text.ts';
import type { AllowedDuplicates, TrainingJob } from '../train/job-history.ts';
import { createJobHistory, jobHistoryFile, jobStatus } from '../train/job-history.ts';
import { type BodyDigest, digestBytes } from '../train/stream/upload.ts';
import type { Settings } from './resolve-settings.ts';

/** Records the request of a job, and prevents a duplicate. */
export interface JobGuard {
  readonly onSend: () => Promise<void>;
  /** Reports the size of a job that is shown, and warns of what `onSend` would throw. */
  readonly onPreview: () => Promise<void>;
  readonly recordOutcome: (outcome: RequestOutcome) => Promise<void>;
}

/** Guards against sending a job twice by mistake: `onSend` throws what `begin` throws, except for the local service, which is free. */
export function createJobGuard(
  job: TrainingJob,
  allowed: AllowedDuplicates,
  { runtime, report }: Context,
  history = createJobHistory(jobHistoryFile(dataDirectory(runtime)), runtime),
): JobGuard {
  let start: Promise<(outcome: RequestOutcome) => Promise<void>> | undefined;
  const allowedHere = job.target === 'local' || allowed;
  return {
    onSend: async () => {
      // A line that waits for the service starts again, as the same job.
      start ??= history.begin({ ...job, config: job.config && report.redactBody(job.config) }, allowedHere);
      await start;
    },
    onPreview: async () => {
      const { groups, trajectories, bytes, config = 'null' } = job;
      const counts = `${groups} ${pluralize(groups, 'group')}, ${trajectories} ${pluralize(trajectories, 'trajectory', 'trajectories')}`;
      const parameters = config === 'null' ? '' : `, experimental_config ${config}`;
      await report.note(`the job has ${counts}, ${formatByteSize(bytes)}${parameters}`);
      const failure = await history.findDuplicate(job, allowedHere).catch(toFailure);
      if (failure) await report.warn(`svc would not send this request: ${failure.message}; ${failure.facts.hint}`);
    },
    recordOutcome: async (outcome) => {
      const record = await start?.catch(() => undefined);
      const what = 'could not record the outcome of the job, so svc will refuse to send it again';
      await record?.(outcome).catch((error: unknown) => report.warn(`${what}: ${toFailure(error).message}`));
    },
  };
}

/** The guard of a line of a batch. */
export interface LineGuard extends JobGuard {
  /** The response to the line in an earlier run, if that is known outside of the batch. */
  readonly knownResponse: () => Promise<Buffer | undefined>;
}

/** Creates the guard of a line, which an earlier run may have applied. */
export type CreateLineGuard = (line: number, draft: Draft, mayBeApplied: boolean) => LineGuard;

/** The guards of lines that are training jobs of `file`. */
export function createLineGuards(
  settings: Settings,
  allowsDuplicate: boolean,
  file: string,
  run: string,
  context: Context,
): CreateLineGuard {
  const { runtime } = context;
  const history = createJobHistory(jobHistoryFile(dataDirectory(runtime)), runtime);
  return (line, draft, mayBeApplied) => {
    const job = { ...createTrainingJob(draft, [file], settings), run, line };
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

// All histories are read before a job is sent.
const MAX_CONFIG_CHARS = 16 * 1024;

/** The job of a body; `files` are its names in the job history. By default the draft is all of it. */
export function createTrainingJob(
  { doc }: Draft,
  files: readonly string[],
  { destination }: Settings,
  { bytes, digest }: BodyDigest = digestBytes(doc.bytes),
  counts = countTrajectories(doc),
): TrainingJob {
  const model = firstStringMember(rootOf(doc), 'model_id');
  const parameters = getMember(rootOf(doc), 'experimental_config');
  const text = parameters ? compactJson(parameters) : 'null';
  const config = text.length <= MAX_CONFIG_CHARS ? redactNamedSecrets(text) : undefined;
  return { bytes, digest, model, config, files, ...counts, target: recordedUrl(destination) };
}

function countTrajectories(doc: JsonDocument): Pick<TrainingJob, 'groups' | 'trajectories'> {
  const groups = itemsAt(rootOf(doc), 'trajectory_groups');
  const sizes = groups.map((group) => itemsAt(group, 'trajectories').length);
  return { groups: groups.length, trajectories: sizes.reduce((sum, size) => sum + size, 0) };
}
