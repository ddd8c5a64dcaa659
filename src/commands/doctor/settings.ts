import type { AuthScheme } from '../../config/credentials/credential.ts';
import { configDirectory, dataDirectory } from '../../config/directories.ts';
import { findBaseUrl, resolveSetting, type SelectedProfile, type ServiceHost } from '../../config/select-profile.ts';
import { type Setting, type SettingName, settings } from '../../config/settings.ts';
import { parseProxyUrl, readProxyVariable } from '../../http/proxy.ts';
import { REDACTED } from '../../output/reporter.ts';
import type { Runtime } from '../../runtime.ts';
import { version } from '../../version.ts';
import type { HostBaseUrl } from './connections.ts';
import { credentialRow } from './credentials.ts';
import { type DoctorSetting, type Examination, NOT_SET } from './doctor-report.ts';

/** Every setting, with its source and without its secrets. Invalid settings become findings. */
export async function listSettings(
  examination: Examination,
  baseUrls: readonly HostBaseUrl[],
): Promise<DoctorSetting[]> {
  const { selected, context } = examination;
  const { runtime } = context;
  const { env } = runtime;
  const schemes: readonly AuthScheme[] = selected.isLocal ? [] : ['basic', 'bearer'];
  const credentials = await Promise.all(schemes.map((scheme) => credentialRow(scheme, examination, baseUrls)));
  const rowsOf = (name: SettingName, setting: Setting): readonly DoctorSetting[] => {
    switch (name) {
      case 'profile':
        return [{ name, value: selected.name, source: selected.source }];
      case 'trace_base_url':
      case 'chat_base_url':
      case 'train_base_url':
        return [baseUrlRow(name, examination, baseUrls)];
      case 'username':
        return credentials;
      // The rows of the three hosts and of the credentials show these.
      case 'base_url':
      case 'password':
      case 'token':
        return [];
      case 'headers':
        return [storedRow(name, Object.keys(selected.profile.headers ?? {}).join(', '), selected)];
      case 'credential_command':
        // Only the program: an argument could be a secret.
        return [storedRow(name, selected.profile.credential_command?.[0] ?? '', selected)];
      case 'config_dir':
        return [{ name, value: configDirectory(runtime), source: env.SVC_CONFIG_DIR ? 'SVC_CONFIG_DIR' : 'default' }];
      case 'data_dir':
        return [{ name, value: dataDirectory(runtime), source: env.SVC_DATA_DIR ? 'SVC_DATA_DIR' : 'default' }];
      case 'https_proxy':
      case 'http_proxy':
      case 'no_proxy':
        return [proxyRow(name, env)];
      default:
        return [plainRow(name, setting, examination)];
    }
  };
  return [
    ...settings.flatMap((setting) => rowsOf(setting.name, setting)),
    { name: 'node', value: runtime.node, source: 'this process' },
    { name: 'svc', value: version, source: 'this process' },
  ];
}

function baseUrlRow(
  name: `${ServiceHost}_base_url`,
  { flags, selected, sources: { env } }: Examination,
  baseUrls: readonly HostBaseUrl[],
): DoctorSetting {
  const { profile, isLocal, source: chooser, name: profileName } = selected;
  if (isLocal) return { name, value: 'the local service', source: chooser };
  const host = (['trace', 'chat', 'train'] as const).find((one) => name.startsWith(one)) ?? 'trace';
  const { source = NOT_SET } = findBaseUrl(host, flags, env, profile) ?? {};
  // Only a valid URL is shown: a password in any other text could not be redacted.
  const url = baseUrls.find((baseUrl) => baseUrl.host === host)?.url.href ?? null;
  return { name, value: url, source: source.replace('the profile', `profile "${profileName}"`) };
}

function storedRow(name: SettingName, value: string, { name: profileName }: SelectedProfile): DoctorSetting {
  return { name, value: value || null, source: value ? `profile "${profileName}"` : NOT_SET };
}

function proxyRow(name: string, env: Runtime['env']): DoctorSetting {
  const proxyVariable = readProxyVariable(env, name.toUpperCase());
  if (!proxyVariable) return { name, value: null, source: NOT_SET };
  const { text, source } = proxyVariable;
  if (name === 'no_proxy') return { name, value: text, source };
  const proxy = parseProxyUrl(text);
  const user = proxy?.username || proxy?.password ? `${REDACTED}@` : '';
  return { name, value: proxy ? `${proxy.protocol}//${user}${proxy.host}` : null, source };
}

// A default is that of svc only if no other program reads the variable.
function plainRow(name: SettingName, setting: Setting, { sources }: Examination): DoctorSetting {
  const found = resolveSetting(name, sources);
  if (found) return { name, value: setting.kind === 'secret' ? REDACTED : found.text, source: found.source };
  const isOwn = setting.flag !== undefined || setting.variable?.startsWith('SVC_') || setting.kind === 'file';
  const fallback = (isOwn && setting.default) || null;
  return { name, value: fallback, source: fallback === null ? NOT_SET : 'default' };
}
