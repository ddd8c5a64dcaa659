import type { Context } from '../context.ts';
import { writeJson } from '../json/write-json.ts';
import type { Settings } from './resolve-settings.ts';
import { sendJson } from './send.ts';

const MAX_PROBE_TIMEOUT_MS = 30_000;
const PROBE_WINDOW_MS = 60_000;

/**
 * Requests the schema of one feedback payload of the last minute, which changes nothing and costs nothing, and returns the
 * status of the response. `settings` are those of the operation. Throws the Failure of anything but a valid response, without
 * retries unless they are set, and within 30 s, or within the time limit of the settings if that is less.
 */
export async function probeFeedbackSchema(
  projectId: string,
  settings: Settings,
  context: Context,
): Promise<number | null> {
  const now = context.runtime.now();
  const [start, end] = [now - PROBE_WINDOW_MS, now].map((time) => new Date(time).toISOString());
  const body = writeJson({ project_id: projectId, start, end, sample_limit: 1 });
  const timeoutMs = Math.min(settings.timeoutMs ?? MAX_PROBE_TIMEOUT_MS, MAX_PROBE_TIMEOUT_MS);
  const maxRetries = settings.areRetriesDefault ? 0 : settings.maxRetries;
  const { status } = await sendJson(body, { ...settings, timeoutMs, maxRetries }, context);
  return status ?? null;
}
