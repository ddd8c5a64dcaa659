import { missingBaseUrl } from '../../client/destination.ts';
import { resolveBaseUrl, type SelectedProfile, type ServiceHost } from '../../config/select-profile.ts';
import type { Runtime } from '../../runtime.ts';
import { captureFinding, type DoctorFinding, type DoctorOptions } from './doctor-report.ts';

/** The base URL of a kind of operations. */
export interface HostBaseUrl {
  readonly host: ServiceHost;
  readonly url: URL;
}

/** The base URLs that are set; an invalid one is a finding, and so is having none. */
export async function resolveBaseUrls(
  { connectionFlagsFor }: DoctorOptions,
  { isLocal, profile }: SelectedProfile,
  env: Runtime['env'],
  findings: DoctorFinding[],
): Promise<HostBaseUrl[]> {
  if (isLocal) return [];
  const findingsBefore = findings.length;
  const hosts: readonly ServiceHost[] = ['trace', 'chat', 'train'];
  const urls = await Promise.all(
    hosts.map((host) => captureFinding(() => resolveBaseUrl(host, connectionFlagsFor(host), env, profile), findings)),
  );
  const baseUrls = hosts.flatMap((host, at) => (urls[at] ? [{ host, url: urls[at] }] : []));
  if (baseUrls.length === 0 && findings.length === findingsBefore) {
    const { message, code, facts } = missingBaseUrl();
    findings.push({ message, code, hint: facts.hint });
  }
  return baseUrls;
}
