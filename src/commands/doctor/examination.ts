import { findBaseUrl, resolveBaseUrl, type ServiceHost, serviceHosts } from '../../config/base-url.ts';
import type { AuthScheme } from '../../config/credentials/credential.ts';
import { authorizationOf, findCredentialSource, isOpenOrigin } from '../../config/credentials/credential.ts';
import { missingBaseUrl } from '../../config/destination.ts';
import { configDirectory, dataDirectory } from '../../config/environment.ts';
import { DEFAULT_PROFILE_NAME } from '../../config/profile-store.ts';
import { readProjectFile } from '../../config/project-file.ts';
import type { SelectedProfile, SettingSources } from '../../config/select-profile.ts';
import { authScheme, resolveSetting, selectProfile } from '../../config/select-profile.ts';
import type { ServiceOptions, Setting, SettingName } from '../../config/settings.ts';
import { environmentSetting, settings } from '../../config/settings.ts';
import type { Context } from '../../context.ts';
import { Failure, type FailureCode } from '../../errors.ts';
import type { OptionsOfList } from '../../flag.ts';
import { isLoopbackUrl, parseProxyUrl, readProxyVariable } from '../../http/proxy.ts';
import { REDACTED } from '../../output/redaction.ts';
import { version } from '../../version.ts';
import type { doctorFlags } from '../definitions/command-flags.ts';

export type DoctorOptions = ServiceOptions & OptionsOfList<typeof doctorFlags>;

/** A problem. With a code it fails the examination, without one it is a warning. */
interface DoctorFinding {
  readonly message: string;
  readonly hint?: string | undefined;
  readonly code?: FailureCode;
}

export interface Examination {
  readonly context: Context;
  readonly options: DoctorOptions;
  readonly selected: SelectedProfile;
  readonly sources: SettingSources;
  /** Those that are set and valid. */
  readonly baseUrls: readonly { readonly host: ServiceHost; readonly url: URL }[];
  readonly findings: DoctorFinding[];
  /** The result of an action; its Failure becomes a finding. Throws any other error. */
  readonly capture: <T>(action: () => T | Promise<T>) => Promise<T | undefined>;
}

export async function openExamination(options: DoctorOptions, context: Context): Promise<Examination> {
  const { runtime } = context;
  const { env } = runtime;
  const findings: DoctorFinding[] = [];
  const capture: Examination['capture'] = async (action) => {
    try {
      return await action();
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      const { message, code, facts } = error;
      // Several base URLs can have the same problem.
      if (!findings.some((finding) => finding.message === message)) findings.push({ message, code, hint: facts.hint });
      return undefined;
    }
  };
  const warn = async (message: string) => void findings.push({ message });
  const report = { warn, note: warn };
  // A profile that cannot be read is reported; the rest is examined as if it were empty.
  const selected = (await capture(() => selectProfile(options, { runtime, report }))) ?? {
    name: options.profile || environmentSetting('profile', env) || DEFAULT_PROFILE_NAME,
    source: 'could not be read',
    isLocal: false,
    profile: {},
  };
  const sources = { options, env, project: await capture(() => readProjectFile(runtime, report.warn)), selected };
  const baseUrls: { host: ServiceHost; url: URL }[] = [];
  const findingsBefore = findings.length;
  for (const host of selected.isLocal ? [] : serviceHosts) {
    const url = await capture(() => resolveBaseUrl(host, options.baseUrl, env, selected.profile));
    if (url) baseUrls.push({ host, url });
  }
  if (!selected.isLocal && baseUrls.length === 0 && findings.length === findingsBefore)
    await capture(() => {
      throw missingBaseUrl({ env }, selected);
    });
  return { context, options, selected, sources, baseUrls, findings, capture };
}

export const NOT_SET = 'not set';

// A type, not an interface: it is printed as JSON.
type SettingRow = { readonly name: string; readonly value: string | null; readonly source: string };

/** Every setting, with its source and without its secrets. */
export function listSettings(examination: Examination, credentials: readonly SettingRow[]): SettingRow[] {
  const { runtime } = examination.context;
  // The rows of the three hosts and of the credentials show these.
  const shownElsewhere = ['base_url', 'password', 'token'];
  const rowsOf = (setting: (typeof settings)[number]): readonly SettingRow[] =>
    setting.name === 'username' ? credentials : [settingRow(setting.name, setting, examination)];
  return [
    ...settings.filter(({ name }) => !shownElsewhere.includes(name)).flatMap(rowsOf),
    { name: 'node', value: runtime.node, source: 'this process' },
    { name: 'svc', value: version, source: 'this process' },
  ];
}

function settingRow(name: SettingName, setting: Setting, examination: Examination): SettingRow {
  const { selected, sources, baseUrls, options, context } = examination;
  const { env } = sources;
  const { profile } = selected;
  const found = resolveSetting(name, sources);
  const profileSource = `profile "${selected.name}"`;
  const stored = (value = ''): SettingRow => ({ name, value: value || null, source: value ? profileSource : NOT_SET });
  switch (name) {
    case 'profile':
      return { name, value: selected.name, source: selected.source };
    case 'trace_base_url':
    case 'chat_base_url':
    case 'train_base_url': {
      if (selected.isLocal) return { name, value: 'the local service', source: selected.source };
      const host = serviceHosts.find((one) => name.startsWith(one)) ?? 'trace';
      const { source = NOT_SET } = findBaseUrl(host, options.baseUrl, env, profile) ?? {};
      // Only a valid URL is shown: a password in any other text could not be redacted.
      const url = baseUrls.find((baseUrl) => baseUrl.host === host)?.url.href ?? null;
      return { name, value: url, source: source.replace('the profile', profileSource) };
    }
    case 'headers':
      return stored(Object.keys(profile.headers ?? {}).join(', '));
    case 'credential_command':
      // Only the program: an argument could be a secret.
      return stored(profile.credential_command?.[0]);
    case 'config_dir':
      return { name, value: configDirectory(context.runtime), source: found?.source ?? 'default' };
    case 'data_dir':
      return { name, value: dataDirectory(context.runtime), source: found?.source ?? 'default' };
    case 'https_proxy':
    case 'http_proxy':
    case 'all_proxy':
    case 'no_proxy': {
      const { text, source } = readProxyVariable(env, name.toUpperCase()) ?? { text: null, source: NOT_SET };
      if (text === null || name === 'no_proxy') return { name, value: text, source };
      const proxy = parseProxyUrl(text);
      const user = proxy?.username || proxy?.password ? `${REDACTED}@` : '';
      return { name, value: proxy ? `${proxy.protocol}//${user}${proxy.host}` : null, source };
    }
    default: {
      if (found) return { name, value: setting.kind === 'secret' ? REDACTED : found.text, source: found.source };
      // A default is that of svc only if no other program reads the variable.
      const isOwn = setting.flag !== undefined || setting.variable?.startsWith('SVC_') || setting.kind === 'file';
      const fallback = (isOwn && setting.default) || null;
      return { name, value: fallback, source: fallback === null ? NOT_SET : 'default' };
    }
  }
}

/** The source and the destination of a credential, without reading it, so no command is run for it; and the hosts that can be used, or used with it. */
export async function examineCredential(
  scheme: AuthScheme,
  { selected, context, baseUrls, findings, capture }: Examination,
) {
  const source = await capture(() => findCredentialSource(scheme, selected, context.runtime));
  const matching = baseUrls.filter(({ host }) => authScheme(host, selected.profile) === scheme);
  const origins = [...new Set(matching.map(({ url }) => url.origin))];
  const hostsOf = (allowed: readonly string[]) =>
    matching.flatMap(({ host, url }) => (allowed.includes(url.origin) ? [host] : []));
  const openOrigins = origins.filter((origin) => isOpenOrigin(new URL(origin), selected.profile));
  if (!source) {
    const value = openOrigins.length > 0 ? `not needed for ${openOrigins.join(', ')}` : null;
    const row: SettingRow = { name: scheme, value, source: NOT_SET };
    return { row, readyHosts: hostsOf(openOrigins), authorizedHosts: [] };
  }
  const { username, description, origins: ownOrigins } = source;
  // The secret of the environment is known; to read that of a profile could run a command.
  const { secret = username === undefined ? undefined : '' } = source;
  if (secret !== undefined) await capture(() => authorizationOf(source, secret));
  const allowedOrigins = origins.filter((origin) => ownOrigins?.includes(origin) ?? true);
  for (const origin of origins.filter((one) => ![...allowedOrigins, ...openOrigins].includes(one)))
    findings.push({
      message: `the ${scheme} credential of ${description} belongs to ${ownOrigins?.join(', ') || 'no origin'} and is not sent to ${origin}`,
      hint: `to store one for this origin, run: svc auth login --profile ${selected.name}`,
    });
  for (const origin of allowedOrigins.filter((one) => one.startsWith('http:') && !isLoopbackUrl(new URL(one))))
    findings.push({
      message: `${origin} is plain http, so anyone on the network could read the ${scheme} credential`,
      hint: 'use https',
      code: 'safety_check',
    });
  const owner = username === undefined ? 'a token' : `user ${username}`;
  const value = `${owner}, sent to ${allowedOrigins.join(', ') || 'no base URL that is set'}`;
  const row: SettingRow = { name: scheme, value, source: description };
  return { row, readyHosts: hostsOf([...allowedOrigins, ...openOrigins]), authorizedHosts: hostsOf(allowedOrigins) };
}
