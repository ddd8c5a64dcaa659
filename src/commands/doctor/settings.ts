import type { FlagValues } from '../../fields/flag.ts';
import { parseProxy, variable } from '../../http/proxies.ts';
import type { Scheme } from '../../profiles/credential.ts';
import { configFolder, dataFolder } from '../../profiles/folders.ts';
import { type Chosen, type Host, namedBaseUrl } from '../../profiles/resolve.ts';
import { authorityFiles } from '../../profiles/way.ts';
import type { Runtime } from '../../runtime.ts';
import { version } from '../../version.ts';
import { fillingOf, settingOf, USUAL_RETRIES } from '../options.ts';
import type { Address } from './addresses.ts';
import { credentialSetting } from './credentials.ts';
import type { Question, Setting } from './examination.ts';
import type { Finding } from './finding.ts';

/** Every setting as it counts, with what gives it and without its secrets. What is wrong with one becomes a finding. */
export async function settingsOf(
  question: Question,
  flags: FlagValues,
  chosen: Chosen,
  addresses: readonly Address[],
  runtime: Runtime,
  findings: Finding[],
): Promise<Setting[]> {
  const { env } = runtime;
  const schemes: readonly Scheme[] = chosen.isLocal ? [] : ['basic', 'bearer'];
  const credentials = await Promise.all(
    schemes.map((scheme) => credentialSetting(scheme, chosen, addresses, env, findings)),
  );
  const rest: readonly Setting[] = [
    { name: 'profile', value: chosen.name, source: chosen.source },
    ...(['trace', 'chat', 'train'] as const).map((host) => addressSetting(host, question, chosen, addresses, env)),
    ...credentials,
    headersSetting(chosen),
    filling('project_id', chosen, env),
    filling('model', chosen, env),
    limit('timeout', flags, chosen, env, '2m for feedback and calls, none for chat and train'),
    limit('retries', flags, chosen, env, String(USUAL_RETRIES)),
    ...['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY'].map((name) => proxySetting(name, env)),
    ...authoritySettings(question, chosen, env),
    folder('config_folder', configFolder(runtime), 'SVC_CONFIG_DIR', env),
    folder('data_folder', dataFolder(runtime), 'SVC_DATA_DIR', env),
    { name: 'node', value: runtime.node, source: 'this process' },
    { name: 'svc', value: version, source: 'this process' },
  ];
  return rest.map((setting) => ({
    ...setting,
    source: setting.source.replace('the profile', `profile "${chosen.name}"`),
  }));
}

function addressSetting(
  host: Host,
  { wantedFor }: Question,
  { profile, isLocal, source: chooser }: Chosen,
  addresses: readonly Address[],
  env: Runtime['env'],
): Setting {
  const name = `${host}_base_url`;
  if (isLocal) return { name, value: 'the embedded service', source: chooser };
  const { source = 'not set' } = namedBaseUrl(host, wantedFor(host), env, profile) ?? {};
  // Only what was read as an address is shown: of another text nobody knows where its password is.
  return { name, value: addresses.find((address) => address.host === host)?.url.href ?? null, source };
}

function headersSetting({ profile: { headers = {} } }: Chosen): Setting {
  const names = Object.keys(headers).join(', ');
  return { name: 'headers', value: names || null, source: names ? 'headers of the profile' : 'not set' };
}

function filling(name: 'project_id' | 'model', chosen: Chosen, env: Runtime['env']): Setting {
  const { text, from } = fillingOf(name, chosen, env);
  return { name, value: text || null, source: text ? from : 'not set' };
}

function limit(
  name: 'timeout' | 'retries',
  flags: FlagValues,
  { profile }: Chosen,
  env: Runtime['env'],
  usual: string,
): Setting {
  const [source, text] = settingOf(name, flags, env, profile);
  return { name, value: text ?? usual, source: text === undefined ? 'default' : source };
}

function proxySetting(variableName: string, env: Runtime['env']): Setting {
  const name = variableName.toLowerCase();
  const given = variable(env, variableName);
  if (!given) return { name, value: null, source: 'not set' };
  return { name, value: name === 'no_proxy' ? given.text : shownProxy(given.text), source: given.source };
}

function shownProxy(text: string): string | null {
  const proxy = parseProxy(text);
  if (!proxy) return null;
  return `${proxy.protocol}//${proxy.username || proxy.password ? '[hidden]@' : ''}${proxy.host}`;
}

function authoritySettings({ files }: Question, { profile }: Chosen, env: Runtime['env']): Setting[] {
  const given = authorityFiles(files.cacert, profile, env);
  return ['node_extra_ca_certs', 'cacert'].map((name) => {
    const file = given.find(({ source }) => source.toLowerCase().replace('--', '').startsWith(name));
    return { name, value: file?.path ?? null, source: file?.source ?? 'not set' };
  });
}

function folder(name: string, path: string, variableName: string, env: Runtime['env']): Setting {
  return { name, value: path, source: env[variableName] ? variableName : 'default' };
}
