import { invalidBodyFailure } from '../../body/body-check.ts';
import { createDraft, type Draft } from '../../body/draft.ts';
import { isIssue, parseJsonSource } from '../../body/json-source.ts';
import { enforceChecks } from '../../client/enforce-checks.ts';
import type { Context } from '../../context.ts';
import { Failure } from '../../errors.ts';
import type { RequestBody } from '../../http/message.ts';
import { createTrainingFacts } from '../../train/job-history.ts';
import { assembleBody, splitAtGroupArrays } from '../../train/stream/assemble-body.ts';
import { createBodyHash, withholdLastChunk } from '../../train/stream/body-digest.ts';
import type { CheckedContent } from '../../train/stream/checked-content.ts';
import { labeledEnvelope } from './training-body.ts';
import type { TrainingInput, TrainingRequest } from './training-input.ts';

/**
 * The body of trajectories that can be read only once, sent as they are read. Its end is sent after everything has passed
 * the checks and the guard; otherwise the Failure is thrown, and the request stays incomplete.
 */
export function singlePassBody(
  trajectories: CheckedContent,
  { built, trainingBody, files }: TrainingInput,
  { input, strictness, guard }: TrainingRequest,
  { report }: Context,
): RequestBody {
  const { content, checks } = trajectories;
  const parts = splitAtGroupArrays(built.draft.doc);
  const pieces = trainingBody ? content.readFirst(checks) : assembleBody(parts, () => content.readFirst(checks));
  const completeDraft = (): Draft => {
    if (!trainingBody) return built.draft;
    const { label, bytes, position, issue } = labeledEnvelope(
      trainingBody.envelope.label,
      trainingBody.content,
      checks,
    );
    const source = issue ?? parseJsonSource(label, bytes);
    if (isIssue(source)) throw invalidBodyFailure([source]);
    return createDraft({ ...source, position: position ?? source.position }, '{}');
  };
  return {
    length: undefined,
    chunks: () => {
      const hash = createBodyHash();
      return withholdLastChunk(pieces, hash.update, async () => {
        try {
          const checkedDraft = completeDraft();
          await enforceChecks(checkedDraft, input.operation, built.inputIssues, strictness, report, trajectories);
          await guard.begin(createTrainingFacts(hash.digest(), checkedDraft, checks, files));
        } catch (error) {
          throw canceledUploadFailure(error);
        }
      });
    },
  };
}

// The checks report that nothing was sent, which is true for all bodies but this one.
function canceledUploadFailure(error: unknown): unknown {
  if (!(error instanceof Failure)) return error;
  const message = error.message.replace(/; nothing was sent$/, '; svc canceled the upload, and nothing was applied');
  return new Failure(error.code, message, error.facts);
}
