import { probeFeedbackSchema } from '../../client/probe.ts';
import { resolveSettings } from '../../client/settings.ts';
import { type Failure, toFailure } from '../../errors.ts';
import { feedbackSchemaOperation } from '../../operations/feedback-schema.ts';
import type { Examination, ProbeResult } from './doctor-report.ts';

// Used if no project is set: a response that it does not exist comes from the service as well.
const PLACEHOLDER_PROJECT_ID = 'svc/doctor';

/**
 * Requests the schema of the feedback of the last minute, which changes nothing. Throws the Failure that prevents the
 * request; a failed request is a finding.
 */
export async function probeService({ context, flags, findings }: Examination): Promise<ProbeResult | undefined> {
  const { runtime, signal } = context;
  const settings = await resolveSettings(feedbackSchemaOperation, flags, context);
  const configuredProject = settings.defaults.project.text;
  const projectId = configuredProject || PLACEHOLDER_PROJECT_ID;
  const startedAt = runtime.elapsed();
  const result = (status: number | null): ProbeResult => ({
    project_id: projectId,
    status,
    milliseconds: Math.round(runtime.elapsed() - startedAt),
  });
  try {
    return result(await probeFeedbackSchema(projectId, settings, context));
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    const failure = toFailure(error);
    // Nothing was sent.
    if (failure.code === 'credentials' && failure.facts.status === undefined) throw failure;
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
