import type { AutofillSettings } from '../body/autofill.ts';
import { invalidValueFailure, usageFailure } from '../errors.ts';
import { type OptionValues, optionKey } from '../flag.ts';
import { isLoopbackUrl } from '../http/proxy.ts';
import { shellWord } from '../output/shell-quote.ts';
import type { Runtime } from '../runtime.ts';
import { findBaseUrl, resolveBaseUrl, type ServiceHost, serviceHosts } from './base-url.ts';
import type { ConfigContext, Profile } from './profile-store.ts';
import {
  DEFAULT_PROFILE_NAME,
  getProfile,
  LOCAL_PROFILE_NAME,
  parseProfileName,
  readProfiles,
} from './profile-store.ts';
import { type ProjectSettings, readProjectFile } from './project-file.ts';
import { environmentSetting, findSetting, type ServiceOptions, type SettingName, settingFlagName } from './settings.ts';

export interface SelectedProfile {
  readonly name: string;
  readonly source: string;
  readonly isLocal: boolean;
  readonly profile: Profile;
}

/** Throws usage for a named profile that does not exist; `missingHint` is the next step then. */
export async function selectProfile(
  { local: isLocal, profile: named, baseUrl }: Partial<Pick<ServiceOptions, 'local' | 'profile' | 'baseUrl'>>,
  context: ConfigContext,
  missingHint?: string,
): Promise<SelectedProfile> {
  if (isLocal && named && named !== LOCAL_PROFILE_NAME)
    throw usageFailure('--local cannot be combined with --profile', 'remove one of them');
  const requestedName = isLocal ? LOCAL_PROFILE_NAME : named || environmentSetting('profile', context.runtime.env);
  const requestedBy = isLocal ? '--local' : named ? '--profile' : 'SVC_PROFILE';
  // Named on the command line or in the environment, "local" needs no store, not even one that can be read.
  const stored =
    requestedName === LOCAL_PROFILE_NAME
      ? { profiles: {} }
      : await readProfiles(context, !requestedName && isEnvironmentComplete(baseUrl, context.runtime));
  const name = requestedName || stored.current || DEFAULT_PROFILE_NAME;
  if (name === LOCAL_PROFILE_NAME)
    return { name, source: requestedName ? requestedBy : 'svc profile use', isLocal: true, profile: {} };
  const source = requestedName ? requestedBy : stored.current ? 'first login or svc profile use' : 'default';
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

/** The command that stores credentials for a base URL: in a new profile if this one has another base URL, which the login would change. */
export function loginCommand({ name, profile }: Pick<SelectedProfile, 'name' | 'profile'>, baseUrl: string): string {
  const known = profileOrigins(profile);
  if (known.includes(new URL(baseUrl).origin)) return `svc auth login --profile ${name}`;
  return `svc auth login --profile ${known.length === 0 ? name : 'NEW_NAME'} --base-url ${shellWord(baseUrl)}`;
}

export function authScheme(host: ServiceHost, { trace_auth }: Profile): 'basic' | 'bearer' {
  return host === 'trace' && trace_auth !== 'bearer' ? 'basic' : 'bearer';
}

/** The origins of the base URLs that get the credential of a scheme. */
export function schemeOrigins(scheme: 'basic' | 'bearer', profile: Profile): string[] {
  const hosts = serviceHosts.filter((host) => authScheme(host, profile) === scheme);
  return profileOrigins(profile, hosts);
}

// With a base URL, and a credential if it needs one: no profile is needed.
function isEnvironmentComplete(baseUrl: string | undefined, { env, credentials = [] }: Runtime): boolean {
  const text = serviceHosts.map((host) => findBaseUrl(host, baseUrl, env, {})?.text).find((one) => one !== undefined);
  if (text === undefined || !URL.canParse(text)) return false;
  return credentials.some(({ secret }) => env[secret]) || isLoopbackUrl(new URL(text));
}

/** The origins of a profile's base URLs, of all hosts or of those given. */
export function profileOrigins(profile: Profile, hosts: readonly ServiceHost[] = serviceHosts): string[] {
  const urls = hosts.map((host) => resolveBaseUrl(host, undefined, {}, profile));
  return [...new Set(urls.flatMap((url) => (url ? [url.origin] : [])))];
}

export function originMismatchWarnings(name: string, profile: Profile): string[] {
  const { password = profile.password_key, token = profile.token_key, credential_command: command } = profile;
  const hasMismatch = (scheme: 'basic' | 'bearer', allowedOrigins: readonly string[] = []): boolean =>
    schemeOrigins(scheme, profile).some((origin) => !allowedOrigins.includes(origin));
  const warnings: string[] = [];
  const warn = (what: string, rest: string): void =>
    void warnings.push(`${what} of profile "${name}" belongs to another base URL and ${rest}`);
  const isNotSent = `is not sent to this one; to store one for it, run: svc auth login --profile ${name}`;
  const isNotRun = `is not run for this one; to use it, set it again: svc profile set ${name} --credential-command …`;
  const { basic_command_origins: forBasic, bearer_command_origins: forBearer } = profile;
  if (password !== undefined && hasMismatch('basic', profile.basic_origins)) warn('the password', isNotSent);
  if (token !== undefined && hasMismatch('bearer', profile.bearer_origins)) warn('the token', isNotSent);
  if (command !== undefined && (hasMismatch('basic', forBasic) || hasMismatch('bearer', forBearer)))
    warn('credential_command', isNotRun);
  return warnings;
}

/** The sources of settings, in order of precedence. */
export interface SettingSources {
  readonly options?: OptionValues;
  readonly env: Runtime['env'];
  readonly project?: ProjectSettings | undefined;
  readonly selected: { readonly name: string; readonly profile: Profile };
}

/** Unchecked; undefined if unset or empty. `source` is `SVC_TIMEOUT` or `profile "work"`; `label` also names the key in a file. */
export function resolveSetting(
  name: SettingName,
  { options = {}, env, project, selected }: SettingSources,
): { readonly text: string; readonly source: string; readonly label: string } | undefined {
  const setting = findSetting(name);
  const flag = settingFlagName(setting);
  const { variable = '' } = setting;
  const profileSource = `profile "${selected.name}"`;
  const stored = new Map<string, unknown>(Object.entries(selected.profile)).get(name);
  const candidates: readonly (readonly [source: string, label: string, value: unknown])[] = [
    [`--${flag}`, `--${flag}`, setting.flag && options[optionKey(flag)]],
    [variable, variable, env[variable]],
    [project?.path ?? '', `${name} in ${project?.path}`, setting.isProject && project?.values.get(name)],
    [profileSource, `${name} of ${profileSource}`, setting.isStored && stored],
  ];
  for (const [source, label, value] of candidates)
    if (typeof value === 'string' && value !== '') return { text: value, source, label };
  return undefined;
}

export type HistoryMode = 'off' | 'on' | 'bodies';

/** The mode of the history that SVC_HISTORY or the profile sets; `1` is `on`. Throws usage for any other value. */
export function resolveHistoryMode(sources: SettingSources): HistoryMode | undefined {
  const { text, label = '' } = resolveSetting('history', sources) ?? {};
  if (text === undefined || text === 'off' || text === 'on' || text === 'bodies') return text;
  if (text === '0' || text === '1') return text === '1' ? 'on' : 'off';
  throw invalidValueFailure(label, text, 'off, on or bodies');
}

/** The project and the model for bodies that name none. */
export async function resolveDefaults(
  selected: SelectedProfile,
  { runtime, report }: ConfigContext,
  hasProjectFile = true,
): Promise<Pick<AutofillSettings, 'project' | 'model'>> {
  const project = hasProjectFile ? await readProjectFile(runtime, report.warn) : undefined;
  const defaultOf = (name: SettingName): AutofillSettings['model'] => {
    const { text, source = '' } = resolveSetting(name, { env: runtime.env, project, selected }) ?? {};
    return { text, from: source };
  };
  return { project: defaultOf('project_id'), model: defaultOf('model') };
}
