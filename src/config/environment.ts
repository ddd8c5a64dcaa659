import { isAbsolute, join, resolve } from 'node:path';
import type { EnvironmentCredential, Runtime } from '../runtime.ts';
import {
  environmentSetting,
  findSetting,
  type Setting,
  type SettingName,
  settingFlagName,
  settings,
} from './settings.ts';

export function configDirectory(runtime: Runtime): string {
  return ownDirectory('config_dir', 'xdg_config_home', '.config', runtime);
}

export function dataDirectory(runtime: Runtime): string {
  return ownDirectory('data_dir', 'xdg_data_home', '.local/share', runtime);
}

// Relative parents are ignored (XDG Base Directory Specification): they would change with the working directory.
function ownDirectory(own: SettingName, parent: SettingName, fallback: string, { env, home, cwd }: Runtime): string {
  const [directory, named] = [environmentSetting(own, env), environmentSetting(parent, env)];
  if (directory) return resolve(cwd, directory);
  return join(named && isAbsolute(named) ? named : join(home, fallback), 'svc');
}

/** The credentials of the environment by their variables, a named one first; `optionOf` reads a flag of the command line. */
export function environmentCredentials(optionOf: (flag: string) => string | undefined): EnvironmentCredential[] {
  const variableOf = (name: SettingName): string => findSetting(name).variable ?? '';
  const flag = settingFlagName(findSetting('token_env'));
  const named = optionOf(flag);
  return [
    { scheme: 'basic', username: variableOf('username'), secret: variableOf('password') },
    ...(named ? [{ scheme: 'bearer', secret: named, namedBy: `--${flag}` } as const] : []),
    { scheme: 'bearer', secret: variableOf('token') },
  ];
}

/** The variables that hold secrets, those of credentials and of other settings. */
export function secretVariables({ credentials = [] }: Pick<Runtime, 'credentials'>): string[] {
  const ofSettings = settings.flatMap(({ kind, variable }: Setting) => (kind === 'secret' && variable) || []);
  return [...new Set([...ofSettings, ...credentials.map(({ secret }) => secret)])];
}

// Where other tools expect a key or a base URL, and names as if svc read a key from them, such as SVC_API_KEY.
const likelyNames = {
  key: /^(?!SVC_|API_KEY)(?:[A-Z]\w*_)?API_(?:KEY|TOKEN)$/,
  url: /^(?!SVC_)[A-Z]\w*_(?:BASE_URL|API_BASE)$|^OLLAMA_HOST$|^AZURE_OPENAI_ENDPOINT$/,
  misnamedKey: /^(?:SVC_(?:\w+_)?|API_)KEY$|^SVC_(?:API|AUTH|ACCESS|BEARER)_TOKEN$|^SVC_(?:SECRET|PASS)$/,
};

/** The variables with values that are likely meant for svc, although it reads them only if a flag names them. */
export function likelyVariables(what: keyof typeof likelyNames, env: Runtime['env']): string[] {
  return Object.keys(env).filter((one) => likelyNames[what].test(one) && env[one]);
}
