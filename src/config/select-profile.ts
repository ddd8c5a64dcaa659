import { usageFailure } from '../errors.ts';
import type { Runtime } from '../runtime.ts';
import { parseBaseUrl } from './base-url.ts';
import { DEFAULT_PROFILE_NAME, getProfile, LOCAL_PROFILE_NAME, type Profile, parseProfileName } from './profile.ts';
import { type ConfigContext, readProfiles } from './profile-store.ts';

/** The flags that select the destination and the credentials; undefined if not given. */
export interface ConnectionFlags {
  readonly profile?: string | undefined;
  readonly isLocal: boolean;
  readonly baseUrl?: string | undefined;
}

export type ServiceHost = 'trace' | 'chat' | 'train';

/** The profile that a command uses, and its name. */
export interface SelectedProfile {
  readonly name: string;
  /** Its source, such as `--profile`. */
  readonly source: string;
  readonly isLocal: boolean;
  readonly profile: Profile;
}

/**
 * The profile in use: `--local`, `--profile`, SVC_PROFILE, the one set by `svc profile use`, else "default". Throws
 * usage for a named profile that does not exist; `missingHint` is the next step then.
 */
export async function selectProfile(
  flags: ConnectionFlags,
  context: ConfigContext,
  missingHint?: string,
): Promise<SelectedProfile> {
  const [requestedName, requestedBy] = flags.isLocal
    ? [LOCAL_PROFILE_NAME, '--local']
    : flags.profile
      ? [flags.profile, '--profile']
      : [context.runtime.env.SVC_PROFILE, 'SVC_PROFILE'];
  if (flags.isLocal && flags.profile && flags.profile !== LOCAL_PROFILE_NAME) {
    throw usageFailure('--local cannot be combined with --profile', 'remove one of them');
  }
  const local = { name: LOCAL_PROFILE_NAME, isLocal: true, profile: {} };
  // Named on the command line or in the environment it needs no store, not even one that can be read.
  if (requestedName === LOCAL_PROFILE_NAME) return { ...local, source: requestedBy };
  const stored = await readProfiles(context);
  const name = requestedName || stored.current || DEFAULT_PROFILE_NAME;
  const source = requestedName ? requestedBy : stored.current ? 'svc profile use' : 'default';
  if (name === LOCAL_PROFILE_NAME) return { ...local, source };
  // The default one is used without being stored, so it may also be named.
  const isMissing = requestedName && !Object.hasOwn(stored.profiles, parseProfileName(requestedName));
  if (isMissing && requestedName !== DEFAULT_PROFILE_NAME) {
    const names = Object.keys(stored.profiles);
    const known = names.length > 0 ? `known profiles: ${names.join(', ')}` : 'no profiles yet';
    throw usageFailure(
      `profile "${requestedName}" does not exist (${known})`,
      missingHint ?? `to create it, run: svc auth login --profile ${requestedName}`,
    );
  }
  return { name, source, isLocal: false, profile: getProfile(stored, name) };
}

/**
 * The base URL of a host, checked; undefined if none is set. Source before specificity (docs/contract.md): flag,
 * environment, profile; in the last two, the base URL of the host before the general one.
 */
export function resolveBaseUrl(
  host: ServiceHost,
  flags: ConnectionFlags,
  env: Runtime['env'],
  profile: Profile,
): URL | undefined {
  const found = findBaseUrl(host, flags, env, profile);
  return found && parseBaseUrl(found.text, found.source);
}

/** The base URL of a host, unchecked, and its source. */
export function findBaseUrl(
  host: ServiceHost,
  flags: ConnectionFlags,
  env: Runtime['env'],
  profile: Profile,
): { readonly source: string; readonly text: string } | undefined {
  const prefix = host.toUpperCase();
  const candidates: readonly (readonly [source: string, value: string | undefined])[] = [
    ['--base-url', flags.baseUrl],
    [`SVC_${prefix}_BASE_URL`, env[`SVC_${prefix}_BASE_URL`]],
    ['SVC_BASE_URL', env.SVC_BASE_URL],
    [`${host}_base_url of the profile`, profile[`${host}_base_url`]],
    ['base_url of the profile', profile.base_url],
  ];
  const [source, text] = candidates.find(([, candidate]) => candidate) ?? [];
  return source && text ? { source, text } : undefined;
}

/** The origins of a profile's base URLs, for the given hosts. */
export function profileOrigins(profile: Profile, hosts: readonly ServiceHost[]): string[] {
  const urls = hosts.map((host) => resolveBaseUrl(host, { isLocal: false }, {}, profile));
  return [...new Set(urls.flatMap((url) => (url ? [url.origin] : [])))];
}

/** Warnings about stored credentials whose origins are not those of the current base URLs. */
export function originMismatchWarnings(name: string, profile: Profile): string[] {
  const { password = profile.password_key, token = profile.token_key, credential_command: command } = profile;
  const hasMismatch = (allowedOrigins: readonly string[] = [], ...hosts: readonly ServiceHost[]): boolean =>
    profileOrigins(profile, hosts).some((origin) => !allowedOrigins.includes(origin));
  const warnings = [
    ...(password !== undefined && hasMismatch(profile.basic_origins, 'trace') ? ['password'] : []),
    ...(token !== undefined && hasMismatch(profile.bearer_origins, 'chat', 'train') ? ['token'] : []),
  ].map(
    (secretName) =>
      `the ${secretName} of profile "${name}" belongs to another base URL and is not sent to this one; to store one for it, run: svc auth login --profile ${name}`,
  );
  const hasCommandMismatch =
    hasMismatch(profile.basic_command_origins, 'trace') || hasMismatch(profile.bearer_command_origins, 'chat', 'train');
  if (command !== undefined && hasCommandMismatch)
    warnings.push(
      `credential_command of profile "${name}" belongs to another base URL and is not run for this one; to use it, set it again: svc profile set ${name} --credential-command …`,
    );
  return warnings;
}
