import type { Draft } from '../../body/draft.ts';
import { enforceChecks } from '../../client/enforce-checks.ts';
import type { RequestObserver } from '../../client/hooks.ts';
import type { Context } from '../../context.ts';
import { collectBody } from '../../http/collect-body.ts';
import type { RequestBody } from '../../http/message.ts';
import { parseJson } from '../../json/parse-json.ts';
import { countTrajectories, createTrainingFacts } from '../../train/job-history.ts';
import { assembleBody, splitAtGroupArrays } from '../../train/stream/assemble-body.ts';
import { type CheckedDigest, digestBytes, digestChunks, requireUnchanged } from '../../train/stream/body-digest.ts';
import type { CheckedContent } from '../../train/stream/checked-content.ts';
import { keepHeapSmall } from '../../train/stream/small-heap.ts';
import { showCheckProgress } from './check-progress.ts';
import { gatherTrainingInput, readTrainingFlags, type TrainingInput, type TrainingRequest } from './training-input.ts';
import { createTrajectorySources } from './trajectory-sources.ts';

/** A training job that was checked. */
export interface PreparedTraining {
  readonly draft: Draft;
  /** The body with its trajectories; undefined if the draft is all of it. */
  readonly body?: RequestBody;
  /** Called before the job is sent, and with its outcome. */
  readonly observer: RequestObserver;
  readonly close: () => Promise<void>;
}

/**
 * Prepares the body of a training job; memory is bounded by one trajectory. Files are read twice: now to check, count and hash
 * them, and again when the body is sent; input that can be read only once is copied. Throws Failure: usage, `local` for
 * files, `body`.
 */
export async function prepareTraining(request: TrainingRequest, context: Context): Promise<PreparedTraining> {
  keepHeapSmall();
  const flags = readTrainingFlags(request.input);
  const sources = createTrajectorySources(context, true, request.deadline);
  try {
    const input = await gatherTrainingInput(request, flags, sources, context);
    return { ...(await prepareTrainingBody(input, request, context)), close: sources.close };
  } catch (error) {
    await sources.close();
    throw error;
  }
}

// A body up to this size is held in memory, like that of any other operation.
const MAX_BUFFERED_BODY_BYTES = 256 * 1024;

// Checks the job and returns its body.
async function prepareTrainingBody(
  trainingInput: TrainingInput,
  request: TrainingRequest,
  context: Context,
): Promise<Omit<PreparedTraining, 'close'>> {
  const { built, trajectories, trainingBody, files } = trainingInput;
  const { draft } = built;
  const { strictness, guard, input } = request;
  const { signal, report } = context;
  const check = async (): Promise<void> =>
    enforceChecks(draft, input.operation, built.inputIssues, strictness, report, trajectories);
  if (!trajectories) {
    await check();
    const facts = createTrainingFacts(digestBytes(draft.doc.bytes), draft, countTrajectories(draft), files);
    return { draft, observer: { onSend: () => guard.begin(facts), onOutcome: guard.end } };
  }
  const { content, checks } = trajectories;
  const parts = splitAtGroupArrays(draft.doc);
  const readBody = (): AsyncIterable<Uint8Array> => assembleBody(parts, content.rereadArray);
  const firstDigest = trainingBody?.bodyDigest ?? (await readFirstPass(trajectories, parts, context));
  await check();
  const isDifferent = content.isReordered || (trainingBody && !draft.doc.bytes.equals(trainingBody.envelope.bytes));
  const bodyDigest = isDifferent ? await digestChunks(readBody(), () => signal.throwIfAborted()) : firstDigest;
  const facts = createTrainingFacts(bodyDigest, draft, checks, files);
  const chunks = async function* (): AsyncGenerator<Uint8Array> {
    for (const source of content.sources) await source.verifyUnchanged();
    yield* requireUnchanged(readBody(), bodyDigest, content.sources.map(({ label }) => label).join(' '));
  };
  const observer = { onSend: () => guard.begin(facts), onOutcome: guard.end };
  if (bodyDigest.bytes > MAX_BUFFERED_BODY_BYTES)
    return { draft, body: { length: bodyDigest.bytes, chunks }, observer };
  const bytes = await collectBody(chunks(), MAX_BUFFERED_BODY_BYTES, bodyDigest.bytes);
  return { draft: { ...draft, doc: parseJson(bytes) }, observer };
}

function readFirstPass(
  checked: CheckedContent,
  parts: readonly Uint8Array[],
  context: Context,
): Promise<CheckedDigest> {
  const { content, checks } = checked;
  const { onBytes, end } = showCheckProgress(content.sources, context, checks.groupCount);
  const chunks = content.isReordered ? content.readFirst(checks) : assembleBody(parts, () => content.readFirst(checks));
  return digestChunks(chunks, onBytes).finally(end);
}
