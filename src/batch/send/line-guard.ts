import { Buffer } from 'node:buffer';
import type { Draft } from '../../body/draft.ts';
import { createJobGuard, createTrainingJob, type JobGuard } from '../../client/job-guard.ts';
import type { Settings } from '../../client/resolve-settings.ts';
import { dataDirectory } from '../../config/directories.ts';
import type { Context } from '../../context.ts';
import { firstStringMember } from '../../json/json-node.ts';
import { writeJson } from '../../json/write-json.ts';
import { createJobHistory, jobHistoryFile, jobStatus } from '../../train/job-history.ts';

/** Records the request of a line outside of the batch too, and prevents a duplicate there. */
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
