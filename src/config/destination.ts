import type { Context } from '../context.ts';
import { type Failure, usageFailure } from '../errors.ts';
import type { ConnectOptions } from '../http/open-socket.ts';
import type { Operation } from '../operations/operation.ts';
import { findBaseUrl, joinUrl, operationPathIn, overrideWarning, parseBaseUrl } from './base-url.ts';
import { likelyVariables } from './environment.ts';
import { LOCAL_PROFILE_NAME } from './profile-store.ts';
import { loginCommand, type SelectedProfile } from './select-profile.ts';

/** Where the requests of an operation go, and how to connect. For the local service and for a dry run, no file of TLS is read. */
export interface Destination extends ConnectOptions {
  readonly url: URL;
  readonly isLocal: boolean;
  readonly profile: string;
  readonly isInProfile: boolean;
  /** What sets the base URL, as people find it: `SVC_BASE_URL`; empty for the local service. */
  readonly source: string;
  /** The command that stores credentials for it. */
  readonly login: string;
}

// The local service has no URL; svc never connects to this one.
const LOCAL_ORIGIN = 'http://localhost';

/** The destination, not connected yet; undefined without a base URL. Reports one that is ignored, and throws usage for an invalid one. */
export async function resolveDestination(
  { host, path }: Operation,
  baseUrlFlag: string | undefined,
  selected: SelectedProfile,
  { runtime: { env }, report }: Pick<Context, 'runtime' | 'report'>,
): Promise<Destination | undefined> {
  const { name: profile, isLocal, source, profile: stored } = selected;
  const localProfile = `the profile "${LOCAL_PROFILE_NAME}" of ${source}`;
  if (isLocal && baseUrlFlag)
    throw source === '--local'
      ? usageFailure('--local cannot be combined with --base-url', 'remove one of them')
      : usageFailure(
          `--base-url cannot be combined with ${localProfile}`,
          'remove --base-url, or name another profile with --profile',
        );
  // The command line does not name the local service.
  const ignored = isLocal && !source.startsWith('--') && findBaseUrl(host, undefined, env, {});
  if (ignored) await report.note(`${ignored.source} is ignored, because ${localProfile} uses the local service`);
  const found = isLocal
    ? { text: LOCAL_ORIGIN, source: '', isStored: false }
    : findBaseUrl(host, baseUrlFlag, env, stored);
  const baseUrl = found && parseBaseUrl(found.text, found.source);
  if (!baseUrl) return undefined;
  const override = source === '--profile' && !baseUrlFlag ? overrideWarning(selected, env) : undefined;
  if (override) await report.warn(override);
  const surplus = operationPathIn(baseUrl);
  if (surplus) await report.note(`the base URL is used without ${surplus}: svc adds the path of each operation`);
  const isInProfile = [stored.base_url, stored.trace_base_url, stored.chat_base_url, stored.train_base_url].some(
    (base = '') => URL.canParse(base) && new URL(base).origin === baseUrl.origin,
  );
  const baseUrlSource = found.isStored ? `${found.source} "${profile}"` : found.source;
  const url = new URL(joinUrl(baseUrl, path));
  const login = loginCommand(selected, url.href.slice(0, -path.length));
  return { url, isLocal, profile, isInProfile, source: baseUrlSource, login };
}

/** The destination as files record it: its URL, or `local`; empty for none. */
export function recordedUrl(destination: Pick<Destination, 'url' | 'isLocal'> | undefined): string {
  return destination?.isLocal ? 'local' : (destination?.url.href ?? '');
}

export function traceBaseUrl(destination: Destination | undefined): string {
  return recordedUrl(destination).replace(/\/call\/start$/, '');
}

/** The failure of a request without a base URL. A profile that `--profile` names rules `--local` out. */
export function missingBaseUrl(
  { env }: Pick<Context['runtime'], 'env'>,
  selected?: Pick<SelectedProfile, 'name' | 'source'>,
): Failure {
  const [[url], [key, ...otherKeys]] = [likelyVariables('url', env), likelyVariables('key', env)];
  const scheme = url && !env[url]?.includes('://') ? 'http://' : '';
  const flags = [
    `--base-url ${url ? `"${scheme}$${url}"` : '<url>'}`,
    ...(key ? [`--token-env ${otherKeys.length > 0 ? '<variable>' : key}`] : []),
  ];
  const others = url || key ? `; for the server of other tools, write ${flags.join(' ')}` : '';
  return usageFailure(
    'no base URL is set',
    selected?.source === '--profile'
      ? `run: svc auth login --profile ${selected.name} --base-url <url>${others}`
      : `run: svc auth login --base-url <url>, or add --local to use the local service${others}`,
  );
}
