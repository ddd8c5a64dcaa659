import { authorizeRequest, resolveDestination } from '../../client/destination.ts';
import { probeFeedbackSchema } from '../../client/probe-feedback-schema.ts';
import { createRequestTarget } from '../../client/request-context.ts';
import { resolveSetting } from '../../config/resolve-setting.ts';
import { routeTo } from '../../config/route.ts';
import { type Failure, toFailure } from '../../errors.ts';
import { feedbackSchemaOperation } from '../../operations/feedback-schema.ts';
import type { Examination, ProbeResult } from './doctor-report.ts';

// Used if no project is set: a response that it does not exist comes from the service as well.
const PLACEHOLDER_PROJECT_ID = 'svc/doctor';

/**
 * Requests the schema of the feedback of the last minute, which changes nothing. Throws the Failure that prevents the
 * request; a failed request is a finding.
 */
export async function probeService(
  { connectionFlags, certificateFiles, selected, sources, context, findings }: Examination,
  timeoutMs: number | undefined,
): Promise<ProbeResult | undefined> {
  const { runtime, signal } = context;
  const destination = resolveDestination(feedbackSchemaOperation, connectionFlags, selected, sources.env);
  const { url, isLocal } = destination;
  if (!url) return undefined;
  const route = isLocal ? undefined : await routeTo(url, certificateFiles, selected.profile, context);
  const authorization = await authorizeRequest(
    feedbackSchemaOperation,
    url,
    { options: { isPlainHttpAllowed: false }, chosen: selected, route, timeoutMs: undefined },
    context,
  );
  const target = createRequestTarget(url, selected, authorization);
  const configuredProject = resolveSetting('project_id', sources)?.text;
  const projectId = configuredProject || PLACEHOLDER_PROJECT_ID;
  const startedAt = runtime.elapsed();
  const result = (status: number | null): ProbeResult => ({
    project_id: projectId,
    status,
    milliseconds: Math.round(runtime.elapsed() - startedAt),
  });
  try {
    return result(await probeFeedbackSchema(projectId, destination, target, route, context, timeoutMs));
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    const failure = toFailure(error);
    if (isExpectedRefusal(failure, configuredProject !== undefined)) return result(failure.facts.status ?? null);
    findings.push({
      // The message of a service may repeat any secret of the profile, and stdout is not redacted.
      message: `the probe failed: ${failure.facts.summary ?? failure.message}`,
      code: failure.code,
      hint: failure.code === 'credentials' ? failure.facts.hint : undefined,
    });
    return result(failure.facts.status ?? null);
  }
}

// The service does not know the placeholder project, but it responds and accepts the credentials.
function isExpectedRefusal({ code, facts: { status = 0 } }: Failure, isConfiguredProject: boolean): boolean {
  return code === 'refused' && !isConfiguredProject && status >= 400;
}
