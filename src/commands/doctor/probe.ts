import { createDraft } from '../../body/draft.ts';
import { resolveAuthorization, resolveDestination } from '../../client/destination.ts';
import { exchange } from '../../client/exchange.ts';
import { openTransport } from '../../client/open-transport.ts';
import { prepareRequest } from '../../client/prepared-request.ts';
import { createRequestContext, createRequestTarget } from '../../client/request-context.ts';
import { createRetryBudget } from '../../client/retry-budget.ts';
import { resolveSetting, type SettingSources } from '../../config/resolve-setting.ts';
import { routeTo } from '../../config/route.ts';
import type { SelectedProfile } from '../../config/select-profile.ts';
import type { Context } from '../../context.ts';
import { type Failure, toFailure } from '../../errors.ts';
import { createDeadline } from '../../http/deadline.ts';
import { proxySecrets } from '../../http/proxy.ts';
import { writeJson } from '../../json/write-json.ts';
import { feedbackSchemaOperation } from '../../operations/feedback-schema.ts';
import type { DoctorFinding } from './doctor-finding.ts';
import type { DoctorOptions, ProbeResult } from './doctor-report.ts';

const PROBE_TIMEOUT_MS = 30_000;
const PROBE_WINDOW_MS = 60_000;

// Used if no project is set: a response that it does not exist comes from the service as well.
const PLACEHOLDER_PROJECT_ID = 'svc/doctor';

/**
 * Requests the schema of the feedback of the last minute, which changes nothing. Throws the Failure that prevents the
 * request; a failed request is a finding.
 */
export async function probeService(
  { connectionFlagsFor, certificateFiles }: DoctorOptions,
  selectedProfile: SelectedProfile,
  project: SettingSources['project'],
  context: Context,
  findings: DoctorFinding[],
): Promise<ProbeResult | undefined> {
  const { runtime, report, signal } = context;
  const destination = resolveDestination(
    feedbackSchemaOperation,
    connectionFlagsFor('trace'),
    selectedProfile,
    runtime.env,
  );
  const { url, isLocal } = destination;
  if (!url) return undefined;
  const route = isLocal ? undefined : await routeTo(url, certificateFiles, selectedProfile.profile, context);
  const authorization = isLocal
    ? undefined
    : await resolveAuthorization(url, feedbackSchemaOperation, selectedProfile, false, runtime, signal);
  report.addSecrets([...(authorization?.secrets ?? []), ...(route?.proxy ? proxySecrets(route.proxy) : [])]);
  const sources = { env: runtime.env, project, selected: selectedProfile };
  const configuredProject = resolveSetting('project_id', sources)?.text;
  const project_id = configuredProject || PLACEHOLDER_PROJECT_ID;
  const startedAt = runtime.elapsed();
  const transport = await openTransport(route, { runtime, report });
  const draft = createDraft(undefined, createProbeBody(project_id, runtime.now()));
  const request = { ...prepareRequest(feedbackSchemaOperation, draft, destination), url, authorization };
  const target = createRequestTarget(url, selectedProfile, authorization);
  const requestContext = createRequestContext(feedbackSchemaOperation, draft, target);
  const result = (status: number | null): ProbeResult => ({
    project_id,
    status,
    milliseconds: Math.round(runtime.elapsed() - startedAt),
  });
  try {
    const observer = report.isVerbose ? { onTrace: report.detail } : {};
    const { response } = await exchange(request, requestContext, observer, {
      send: transport.send,
      runtime,
      signal,
      startDeadline: () => createDeadline(PROBE_TIMEOUT_MS, runtime),
      maxRetries: 0,
      retryBudget: createRetryBudget(),
    });
    return result(response.status);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    const failure = toFailure(error);
    if (isExpectedRefusal(failure, configuredProject !== undefined)) return result(failure.facts.status ?? null);
    findings.push({
      message: `svc feedback schema: ${failure.facts.summary ?? failure.message}`,
      code: failure.code,
      hint: failure.code === 'credentials' ? 'run: svc auth login' : undefined,
    });
    return result(failure.facts.status ?? null);
  } finally {
    await transport.close();
  }
}

function createProbeBody(project_id: string, now: number): string {
  const [start, end] = [now - PROBE_WINDOW_MS, now].map((time) => new Date(time).toISOString());
  return writeJson({ project_id, start, end, sample_limit: 1 });
}

// The service does not know the placeholder project, but it is there and accepts the credentials.
function isExpectedRefusal({ code, facts: { status = 0 } }: Failure, isConfiguredProject: boolean): boolean {
  return code === 'refused' && !isConfiguredProject && status >= 400;
}
