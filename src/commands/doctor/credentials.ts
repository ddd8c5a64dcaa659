import {
  type AuthScheme,
  basicAuthorization,
  bearerAuthorization,
  type CredentialSource,
  findCredentialSource,
} from '../../config/credentials/credential.ts';
import { isLoopbackUrl } from '../../http/proxy.ts';
import type { Runtime } from '../../runtime.ts';
import type { HostBaseUrl } from './connections.ts';
import { captureFinding, type DoctorFinding, type DoctorSetting, type Examination, NOT_SET } from './doctor-report.ts';

/** The source and the destination of a credential, without reading it, so no command is run for it. */
export async function credentialRow(
  scheme: AuthScheme,
  { selected, sources: { env }, findings }: Examination,
  baseUrls: readonly HostBaseUrl[],
): Promise<DoctorSetting> {
  const source = await captureFinding(() => findCredentialSource(scheme, selected, env), findings);
  if (!source) return { name: scheme, value: null, source: NOT_SET };
  await captureFinding(() => requireSendable(source, env), findings);
  const origins = originsForScheme(scheme, baseUrls);
  const allowedOrigins = origins.filter((origin) => canSendTo(source, origin));
  for (const origin of origins.filter((one) => !allowedOrigins.includes(one)))
    findings.push({
      message: `the ${scheme} credential of ${source.description} belongs to ${source.origins?.join(', ') || 'no origin'} and is not sent to ${origin}`,
      hint: `to store one for this origin, run: svc auth login --profile ${selected.name}`,
    });
  for (const origin of allowedOrigins.filter(isPlainHttp))
    findings.push({
      message: `${origin} is plain http, so anyone on the network could read the ${scheme} credential`,
      hint: 'use https',
      code: 'safety_check',
    });
  const owner = source.username === undefined ? 'a token' : `user ${source.username}`;
  return {
    name: scheme,
    value: `${owner}, sent to ${allowedOrigins.join(', ') || 'no base URL that is set'}`,
    source: source.description,
  };
}

/** The finding of credentials none of which may go to any of the origins. */
export async function findMissingCredentials(
  { selected, sources: { env } }: Examination,
  baseUrls: readonly HostBaseUrl[],
): Promise<DoctorFinding[]> {
  const isUsable = async (scheme: AuthScheme): Promise<boolean> => {
    const source = await captureFinding(() => findCredentialSource(scheme, selected, env), []);
    return source !== undefined && originsForScheme(scheme, baseUrls).some((origin) => canSendTo(source, origin));
  };
  if (baseUrls.length === 0 || (await isUsable('basic')) || (await isUsable('bearer'))) return [];
  const hint = `run: svc auth login --profile ${selected.name}`;
  return [{ message: 'no credentials are set for any base URL', hint, code: 'credentials' }];
}

// The secret of the environment is known; to read that of a profile could run a command.
function requireSendable({ username, origins, description }: CredentialSource, env: Runtime['env']): void {
  const isFromEnvironment = origins === undefined;
  if (username !== undefined) basicAuthorization(username, (isFromEnvironment && env.SVC_PASSWORD) || '');
  else if (isFromEnvironment) bearerAuthorization(env.SVC_TOKEN ?? '', description);
}

function originsForScheme(scheme: AuthScheme, baseUrls: readonly HostBaseUrl[]): string[] {
  const matching = baseUrls.filter(({ host }) => (host === 'trace') === (scheme === 'basic'));
  return [...new Set(matching.map(({ url }) => url.origin))];
}

function canSendTo({ origins }: CredentialSource, origin: string): boolean {
  return origins === undefined || origins.includes(origin);
}

function isPlainHttp(origin: string): boolean {
  return origin.startsWith('http:') && !isLoopbackUrl(new URL(origin));
}
