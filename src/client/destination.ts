import { joinUrl } from '../config/base-url.ts';
import { LOCAL_PROFILE_NAME } from '../config/profile.ts';
import { type ConnectionFlags, findBaseUrl, resolveBaseUrl, type SelectedProfile } from '../config/select-profile.ts';
import { type Failure, usageFailure } from '../errors.ts';
import type { ConnectOptions } from '../http/open-socket.ts';
import type { Operation } from '../operations/operation.ts';
import type { Runtime } from '../runtime.ts';

/** Where the requests of an operation go, and how to connect. For the local service and for a dry run, no file of TLS is read. */
export interface Destination extends ConnectOptions {
  readonly url: URL;
  readonly isLocal: boolean;
  readonly profile: string;
  /** The profile has a base URL of this origin. */
  readonly isInProfile: boolean;
}

// The local service has no URL; svc never connects to this one.
const LOCAL_ORIGIN = 'http://localhost';

/**
 * The destination of an operation's requests, by flags, environment and profile; undefined without a base URL. Throws usage
 * for invalid ones.
 */
export function resolveDestination(
  { host, path }: Operation,
  connection: ConnectionFlags,
  selected: SelectedProfile,
  env: Runtime['env'],
): Destination | undefined {
  const { name: profile, isLocal } = selected;
  if (isLocal && connection.baseUrl) throw baseUrlOfLocalFailure(selected.source);
  const baseUrl = isLocal ? new URL(LOCAL_ORIGIN) : resolveBaseUrl(host, connection, env, selected.profile);
  if (!baseUrl) return undefined;
  const { base_url, trace_base_url, chat_base_url, train_base_url } = selected.profile;
  const isInProfile = [base_url, trace_base_url, chat_base_url, train_base_url].some(
    (base = '') => URL.canParse(base) && new URL(base).origin === baseUrl.origin,
  );
  return { url: new URL(joinUrl(baseUrl, path)), isLocal, profile, isInProfile };
}

/** The destination as files record it: its URL, or `local`; empty for none. */
export function recordedUrl(destination: Pick<Destination, 'url' | 'isLocal'> | undefined): string {
  return destination?.isLocal ? 'local' : (destination?.url.href ?? '');
}

/** The base URL of a call start, as the spool records it. */
export function traceBaseUrl(destination: Destination | undefined): string {
  return recordedUrl(destination).replace(/\/call\/start$/, '');
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
