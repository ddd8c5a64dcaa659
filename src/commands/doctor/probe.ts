import { classifyStatus } from '../../client/classify-status.ts';
import { resolveAuthorization, resolveDestination } from '../../client/destination.ts';
import { exchangeErrorReason } from '../../client/failure.ts';
import { openTransport, withMiddleware } from '../../client/open-transport.ts';
import { resolveAutofillValue } from '../../client/operation-options.ts';
import { requestHeaders } from '../../client/request-headers.ts';
import { routeTo } from '../../config/route.ts';
import type { SelectedProfile } from '../../config/select-profile.ts';
import type { Context } from '../../context.ts';
import { collectBodyStart } from '../../http/collect-body.ts';
import { createDeadline } from '../../http/deadline.ts';
import { getHeader, type Request, type Response } from '../../http/message.ts';
import { createRequestProgress } from '../../http/request-progress.ts';
import { writeJson } from '../../json/write-json.ts';
import { feedbackSchemaOperation } from '../../operations/feedback-schema.ts';
import type { DoctorFinding } from './doctor-finding.ts';
import type { DoctorOptions, ProbeResult } from './doctor-report.ts';

const PROBE_TIMEOUT_MS = 30_000;
const PROBE_WINDOW_MS = 60_000;

// Where none is set any will do: an answer that there is no such project comes from the service as well.
const PLACEHOLDER_PROJECT_ID = 'svc/doctor';

/**
 * Asks the service for the schema of the feedback of the last minute, which changes nothing, and says what came of it.
 * Throws the Failure that kept it from being asked.
 */
export async function probeService(
  { connectionFlagsFor, certificateFiles }: DoctorOptions,
  selectedProfile: SelectedProfile,
  context: Context,
  findings: DoctorFinding[],
): Promise<ProbeResult | undefined> {
  const { runtime, report, signal } = context;
  const { url, profileHeaders, isLocal } = resolveDestination(
    feedbackSchemaOperation,
    connectionFlagsFor('trace'),
    selectedProfile,
    runtime.env,
  );
  if (!url) return undefined;
  const route = isLocal ? undefined : await routeTo(url, certificateFiles, selectedProfile.profile, runtime);
  const authorization = isLocal
    ? undefined
    : await resolveAuthorization(url, feedbackSchemaOperation, selectedProfile, false, runtime, signal);
  report.addSecrets(authorization?.secrets ?? []);
  const configuredProject = resolveAutofillValue('project_id', selectedProfile, runtime.env).text;
  const project_id = configuredProject || PLACEHOLDER_PROJECT_ID;
  const deadline = createDeadline(PROBE_TIMEOUT_MS, runtime);
  const startedAt = runtime.elapsed();
  const transport = await openTransport(route, context);
  const authorizationHeader = authorization ? [['Authorization', authorization.value.reveal()] as const] : [];
  const request: Request = {
    method: 'POST',
    url: url.href,
    headers: [...requestHeaders(profileHeaders, [], false), ...authorizationHeader],
    body: createProbeBody(project_id, runtime.now()),
    signal,
  };
  try {
    const response = await withMiddleware(transport.send, createRequestProgress(), deadline, context)(request);
    await collectBodyStart(response.body, 1);
    findings.push(...statusFindings(response, configuredProject !== undefined));
    return { project_id, status: response.status, milliseconds: Math.round(runtime.elapsed() - startedAt) };
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    findings.push({
      message: `the service did not answer svc feedback schema: ${exchangeErrorReason(error)}`,
      code: 'unreachable',
    });
    return { project_id, status: null, milliseconds: Math.round(runtime.elapsed() - startedAt) };
  } finally {
    await transport.close();
  }
}

function createProbeBody(project_id: string, now: number): Uint8Array {
  const [start, end] = [now - PROBE_WINDOW_MS, now].map((time) => new Date(time).toISOString());
  return Buffer.from(writeJson({ project_id, start, end, sample_limit: 1 }));
}

function statusFindings({ status, headers }: Response, isConfiguredProject: boolean): DoctorFinding[] {
  const { code } = classifyStatus(status, getHeader(headers, 'retry-after') !== undefined);
  if (code === undefined || (code === 'refused' && !isConfiguredProject && status >= 400)) return [];
  const hint = code === 'credentials' ? 'svc auth login stores others' : undefined;
  return [{ message: `the service answered svc feedback schema with ${status}`, code, hint }];
}
