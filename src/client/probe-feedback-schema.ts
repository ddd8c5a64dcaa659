import { createDraft } from '../body/draft.ts';
import type { Context } from '../context.ts';
import { createDeadline } from '../http/deadline.ts';
import type { Route } from '../http/open-socket.ts';
import { writeJson } from '../json/write-json.ts';
import { feedbackSchemaOperation } from '../operations/feedback-schema.ts';
import type { Destination } from './destination.ts';
import { prepareRequest } from './prepared-request.ts';
import type { RequestTarget } from './request-context.ts';
import { sendPrepared } from './send-body.ts';

const MAX_PROBE_TIMEOUT_MS = 30_000;
const PROBE_WINDOW_MS = 60_000;

/**
 * Requests the schema of one feedback payload of the last minute, which changes nothing and costs nothing, and returns
 * the status of the response. Throws the Failure of anything but a valid response, without retries and within 30 s, or
 * within `timeoutMs` if that is less.
 */
export async function probeFeedbackSchema(
  projectId: string,
  destination: Destination,
  target: RequestTarget,
  route: Route | undefined,
  context: Pick<Context, 'runtime' | 'report' | 'signal'>,
  timeoutMs = MAX_PROBE_TIMEOUT_MS,
): Promise<number> {
  const { runtime } = context;
  const draft = createDraft(undefined, createProbeBody(projectId, runtime.now()));
  const { response, parsedResponse } = await sendPrepared(
    prepareRequest(feedbackSchemaOperation, draft, destination),
    target,
    { route, maxRetries: 0 },
    createDeadline(Math.min(timeoutMs, MAX_PROBE_TIMEOUT_MS), runtime),
    context,
  );
  if (parsedResponse?.failure) throw parsedResponse.failure;
  return response.status;
}

function createProbeBody(project_id: string, now: number): string {
  const [start, end] = [now - PROBE_WINDOW_MS, now].map((time) => new Date(time).toISOString());
  return writeJson({ project_id, start, end, sample_limit: 1 });
}
