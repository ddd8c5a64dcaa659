import { usage } from '../errors.ts';
import type { Runtime } from '../runtime.ts';
import { parseBaseUrl } from './base-url.ts';
import { defaultProfile, localProfile, type Profile, profileName, profileOf } from './profile.ts';
import { readProfiles } from './read.ts';

/** What the command line says about where to and as whom; absent where it says nothing. */
export interface Wanted {
  readonly profile?: string | undefined;
  readonly local: boolean;
  readonly baseUrl?: string | undefined;
  /** The address for this operation's host only. */
  readonly hostUrl?: string | undefined;
}

export type Host = 'trace' | 'chat' | 'train';

/** The profile that counts for a command, and the name it goes by. */
export interface Chosen {
  readonly name: string;
  /** What chose it, such as `--profile`. */
  readonly source: string;
  readonly isLocal: boolean;
  readonly profile: Profile;
}

/**
 * The profile in use: `--local`, `--profile`, SVC_PROFILE, the one set by `svc profile use`, else "default". Throws
 * usage for a named profile that does not exist.
 */
export async function chooseProfile(wanted: Wanted, runtime: Runtime): Promise<Chosen> {
  const [named, namer] = wanted.local
    ? [localProfile, '--local']
    : wanted.profile
      ? [wanted.profile, '--profile']
      : [runtime.env.SVC_PROFILE, 'SVC_PROFILE'];
  if (wanted.local && wanted.profile && wanted.profile !== localProfile) {
    throw usage('--local and --profile name two services', 'give one of them');
  }
  const local = { name: localProfile, isLocal: true, profile: {} };
  // Named on the command line or in the environment it needs no store, not even one that can be read.
  if (named === localProfile) return { ...local, source: namer };
  const stored = await readProfiles(runtime);
  const name = named || stored.current || defaultProfile;
  const source = named ? namer : stored.current ? 'svc profile use' : 'default';
  if (name === localProfile) return { ...local, source };
  if (named && !Object.hasOwn(stored.profiles, profileName(named))) {
    const names = Object.keys(stored.profiles);
    const known = names.length > 0 ? `there are: ${names.join(', ')}` : 'there are none yet';
    throw usage(`there is no profile "${named}"; ${known}`, `svc auth login --profile ${named} makes it`);
  }
  return { name, source, isLocal: false, profile: profileOf(stored, name) };
}

/**
 * The base address of a host, checked, or undefined where none is set. Source before specificity (PRODUCT.md
 * section 4): flags, environment, profile; in each the host's own address before the general one.
 */
export function baseUrlFor(host: Host, wanted: Wanted, env: Runtime['env'], profile: Profile): URL | undefined {
  const { source, text } = namedBaseUrl(host, wanted, env, profile) ?? {};
  return source && text ? parseBaseUrl(text, source) : undefined;
}

/** What names the base address of a host, and the text it gives, unchecked. */
export function namedBaseUrl(
  host: Host,
  wanted: Wanted,
  env: Runtime['env'],
  profile: Profile,
): { readonly source: string; readonly text: string } | undefined {
  const HOST = host.toUpperCase();
  const candidates: readonly (readonly [source: string, value: string | undefined])[] = [
    [`--${host}-base-url`, wanted.hostUrl],
    ['--base-url', wanted.baseUrl],
    [`SVC_${HOST}_BASE_URL`, env[`SVC_${HOST}_BASE_URL`]],
    ['SVC_BASE_URL', env.SVC_BASE_URL],
    [`${host}_base_url of the profile`, profile[`${host}_base_url`]],
    ['base_url of the profile', profile.base_url],
  ];
  const [source, text] = candidates.find(([, candidate]) => candidate) ?? [];
  return source && text ? { source, text } : undefined;
}

/** The origins a profile's own addresses lead to, for the hosts given. */
export function originsOf(profile: Profile, hosts: readonly Host[]): string[] {
  const urls = hosts.map((host) => baseUrlFor(host, { local: false }, {}, profile));
  return [...new Set(urls.flatMap((url) => (url ? [url.origin] : [])))];
}
