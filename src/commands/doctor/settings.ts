import { DEFAULT_MAX_RETRIES, resolveAutofillValue, resolveSetting } from '../../client/operation-options.ts';
import type { AuthScheme } from '../../config/credentials/credential.ts';
import { configDirectory, dataDirectory } from '../../config/directories.ts';
import { caCertificateFiles } from '../../config/route.ts';
import { findBaseUrl, type SelectedProfile, type ServiceHost } from '../../config/select-profile.ts';
import type { FlagValues } from '../../flag.ts';
import { parseProxyUrl, readProxyVariable } from '../../http/proxy.ts';
import type { Runtime } from '../../runtime.ts';
import { version } from '../../version.ts';
import type { HostBaseUrl } from './base-urls.ts';
import { credentialRow } from './credentials.ts';
import type { DoctorFinding } from './doctor-finding.ts';
import type { DoctorOptions, DoctorSetting } from './doctor-report.ts';

/** Every setting as it counts, with what gives it and without its secrets. What is wrong with one becomes a finding. */
export async function listSettings(
  options: DoctorOptions,
  flags: FlagValues,
  selectedProfile: SelectedProfile,
  baseUrls: readonly HostBaseUrl[],
  runtime: Runtime,
  findings: DoctorFinding[],
): Promise<DoctorSetting[]> {
  const { env } = runtime;
  const schemes: readonly AuthScheme[] = selectedProfile.isLocal ? [] : ['basic', 'bearer'];
  const credentials = await Promise.all(
    schemes.map((scheme) => credentialRow(scheme, selectedProfile, baseUrls, env, findings)),
  );
  const rows: readonly DoctorSetting[] = [
    { name: 'profile', value: selectedProfile.name, source: selectedProfile.source },
    ...(['trace', 'chat', 'train'] as const).map((host) => baseUrlRow(host, options, selectedProfile, baseUrls, env)),
    ...credentials,
    headersRow(selectedProfile),
    autofillRow('project_id', selectedProfile, env),
    autofillRow('model', selectedProfile, env),
    limitRow('timeout', flags, selectedProfile, env, '2m for feedback and calls, none for chat and train'),
    limitRow('retries', flags, selectedProfile, env, String(DEFAULT_MAX_RETRIES)),
    ...['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY'].map((name) => proxyRow(name, env)),
    ...certificateRows(options, selectedProfile, env),
    directoryRow('config_folder', configDirectory(runtime), 'SVC_CONFIG_DIR', env),
    directoryRow('data_folder', dataDirectory(runtime), 'SVC_DATA_DIR', env),
    { name: 'node', value: runtime.node, source: 'this process' },
    { name: 'svc', value: version, source: 'this process' },
  ];
  return rows.map((setting) => ({
    ...setting,
    source: setting.source.replace('the profile', `profile "${selectedProfile.name}"`),
  }));
}

function baseUrlRow(
  host: ServiceHost,
  { connectionFlagsFor }: DoctorOptions,
  { profile, isLocal, source: chooser }: SelectedProfile,
  baseUrls: readonly HostBaseUrl[],
  env: Runtime['env'],
): DoctorSetting {
  const name = `${host}_base_url`;
  if (isLocal) return { name, value: 'the embedded service', source: chooser };
  const { source = 'not set' } = findBaseUrl(host, connectionFlagsFor(host), env, profile) ?? {};
  // Only what was read as an address is shown: of another text nobody knows where its password is.
  return { name, value: baseUrls.find((address) => address.host === host)?.url.href ?? null, source };
}

function headersRow({ profile: { headers = {} } }: SelectedProfile): DoctorSetting {
  const names = Object.keys(headers).join(', ');
  return { name: 'headers', value: names || null, source: names ? 'headers of the profile' : 'not set' };
}

function autofillRow(
  name: 'project_id' | 'model',
  selectedProfile: SelectedProfile,
  env: Runtime['env'],
): DoctorSetting {
  const { text, from } = resolveAutofillValue(name, selectedProfile, env);
  return { name, value: text || null, source: text ? from : 'not set' };
}

function limitRow(
  name: 'timeout' | 'retries',
  flags: FlagValues,
  { profile }: SelectedProfile,
  env: Runtime['env'],
  defaultValue: string,
): DoctorSetting {
  const [source, text] = resolveSetting(name, flags, env, profile);
  return { name, value: text ?? defaultValue, source: text === undefined ? 'default' : source };
}

function proxyRow(variableName: string, env: Runtime['env']): DoctorSetting {
  const name = variableName.toLowerCase();
  const proxyVariable = readProxyVariable(env, variableName);
  if (!proxyVariable) return { name, value: null, source: 'not set' };
  return {
    name,
    value: name === 'no_proxy' ? proxyVariable.text : redactProxy(proxyVariable.text),
    source: proxyVariable.source,
  };
}

function redactProxy(text: string): string | null {
  const proxy = parseProxyUrl(text);
  if (!proxy) return null;
  return `${proxy.protocol}//${proxy.username || proxy.password ? '[hidden]@' : ''}${proxy.host}`;
}

function certificateRows(
  { certificateFiles }: DoctorOptions,
  { profile }: SelectedProfile,
  env: Runtime['env'],
): DoctorSetting[] {
  const authorityList = caCertificateFiles(certificateFiles.cacert, profile, env);
  return ['node_extra_ca_certs', 'cacert'].map((name) => {
    const file = authorityList.find(({ source }) => source.toLowerCase().replace('--', '').startsWith(name));
    return { name, value: file?.path ?? null, source: file?.source ?? 'not set' };
  });
}

function directoryRow(name: string, path: string, variableName: string, env: Runtime['env']): DoctorSetting {
  return { name, value: path, source: env[variableName] ? variableName : 'default' };
}
