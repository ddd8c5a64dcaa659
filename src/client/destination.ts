import { joinUrl } from '../config/base-url.ts';
import { requireCredentialSource } from '../config/credentials/credential-source.ts';
import type { Secret } from '../config/credentials/secret.ts';
import { LOCAL_PROFILE_NAME } from '../config/profile.ts';
import { type ConnectionFlags, findBaseUrl, resolveBaseUrl, type SelectedProfile } from '../config/select-profile.ts';
import type { Context } from '../context.ts';
import { Failure, usageFailure } from '../errors.ts';
import type { Headers } from '../http/message.ts';
import type { Route } from '../http/open-socket.ts';
import { isLoopbackUrl, proxySecrets } from '../http/proxy.ts';
import type { Operation } from '../operations/operation.ts';
import type { Runtime } from '../runtime.ts';
import type { OperationOptions } from './operation-options.ts';
import { requireValidHeader } from './request-headers.ts';

/** The URL a request goes to, with its headers from the profile. */
export interface Destination {
  /** Absolute; undefined if no base URL is set, which only a dry run accepts. */
  readonly url: URL | undefined;
  /** Headers of the profile that belong to this origin. */
  readonly profileHeaders: Headers;
  /** The local service responds. */
  readonly isLocal: boolean;
}

/** The credential of a request. */
export interface Authorization {
  readonly value: Secret;
  /** Its source, for messages: `user "api" from profile "work"`. */
  readonly description: string;
  /** The next step after the service rejected it; default: to store another one. */
  readonly correction?: string | undefined;
}

// The local service has no URL; svc never connects to this one.
const LOCAL_ORIGIN = 'http://localhost';

/** The destination of an operation's request, by flags, environment and profile. Throws usage for invalid URLs and headers. */
export function resolveDestination(
  { host, path }: Operation,
  connection: ConnectionFlags,
  selected: SelectedProfile,
  env: Runtime['env'],
): Destination {
  if (selected.isLocal) {
    if (connection.baseUrl) throw baseUrlOfLocalFailure(selected.source);
    return { url: new URL(LOCAL_ORIGIN + path), profileHeaders: [], isLocal: true };
  }
  const base = resolveBaseUrl(host, connection, env, selected.profile);
  if (!base) return { url: undefined, profileHeaders: [], isLocal: false };
  const { headers = {}, header_origins: origins = [] } = selected.profile;
  const ownHeaders = origins.includes(base.origin) ? Object.entries(headers) : [];
  const source = `profile "${selected.name}": header`;
  return {
    url: new URL(joinUrl(base, path)),
    profileHeaders: ownHeaders.map(([name, value]) => requireValidHeader(name, value, source)),
    isLocal: false,
  };
}

/**
 * The base URL of the environment that a request to the local service does not use, as a sentence; undefined without one,
 * and where the command line names the local service.
 */
export function ignoredBaseUrlNote(
  { host }: Operation,
  { isLocal, source }: SelectedProfile,
  env: Runtime['env'],
): string | undefined {
  if (!isLocal || source.startsWith('--')) return undefined;
  const ignored = findBaseUrl(host, { isLocal }, env, {});
  return (
    ignored &&
    `${ignored.source} is ignored, because the profile "${LOCAL_PROFILE_NAME}" of ${source} uses the local service`
  );
}

function baseUrlOfLocalFailure(source: string): Failure {
  if (source === '--local') return usageFailure('--local cannot be combined with --base-url', 'remove one of them');
  return usageFailure(
    `--base-url cannot be combined with the profile "${LOCAL_PROFILE_NAME}" of ${source}`,
    `remove --base-url, or name another profile with --profile`,
  );
}

/** The failure of a request without a base URL. A profile that `--profile` names rules `--local` out. */
export function missingBaseUrl(selected?: Pick<SelectedProfile, 'name' | 'source'>): Failure {
  return usageFailure(
    'no base URL is set',
    selected?.source === '--profile'
      ? `run: svc auth login --profile ${selected.name} --base-url <url>`
      : 'run: svc auth login --base-url <url>, or add --local to use the local service',
  );
}

/** The facts that determine the credential of a request. */
interface AuthorizationSettings {
  readonly options: Pick<OperationOptions, 'isPlainHttpAllowed'>;
  readonly chosen: SelectedProfile;
  readonly route: Route | undefined;
  readonly timeoutMs: number | undefined;
}

/**
 * The credential for a request, redacted in all output from now on; undefined for the local service. Throws Failure
 * `credentials` if there is none, and `guard` if it would leave the machine over plain http, unless that is allowed; then
 * no program is run to get it.
 */
export async function authorizeRequest(
  operation: Operation,
  url: URL,
  { options: { isPlainHttpAllowed }, chosen, route, timeoutMs }: AuthorizationSettings,
  { runtime, report, signal }: Pick<Context, 'runtime' | 'report' | 'signal'>,
): Promise<Authorization | undefined> {
  if (route?.proxy) report.addSecrets(proxySecrets(route.proxy));
  if (chosen.isLocal) return undefined;
  const baseUrl = url.href.slice(0, -operation.path.length);
  const source = requireCredentialSource(operation.auth, baseUrl, chosen, runtime.env);
  const isExposed = url.protocol === 'http:' && !isLoopbackUrl(url);
  if (isExposed && !isPlainHttpAllowed)
    throw new Failure('guard', `${url.origin} is plain http: anyone on the network could read the credential`, {
      hint: 'use https, or add --allow-http if you trust the network',
      applied: 'no',
    });
  const { authorization: value, secrets } = await source.read(runtime, signal, timeoutMs);
  report.addSecrets(secrets);
  if (isExposed) await report.warn(`the credential goes to ${url.origin} over plain http`);
  const who = source.username === undefined ? 'the token' : `user ${JSON.stringify(source.username)}`;
  return { value, description: `${who} from ${source.description}`, correction: source.correction };
}
