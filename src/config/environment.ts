import { isAbsolute, join, resolve } from 'node:path';
import type { EnvironmentCredential, Runtime } from '../runtime.ts';
import {
  environmentSetting,
  findSetting,
  type Setting,
  type SettingName,
  type SettingNameOf,
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

interface CredentialSetting {
  readonly scheme: EnvironmentCredential['scheme'];
  readonly username?: SettingNameOf<'username'>;
  /** The setting whose variable holds the secret. */
  readonly secret: SettingNameOf<'secret'>;
  /** The setting whose value names another variable, which comes first. */
  readonly namedBy?: SettingNameOf<'variable'>;
}

/** The credentials of the environment. To add one, add a line here, and its setting. */
const credentialSettings: readonly CredentialSetting[] = [
  { scheme: 'basic', username: 'username', secret: 'password' },
  { scheme: 'bearer', secret: 'token', namedBy: 'token_env' },
];

/** The credentials of the environment by their variables, a named one first; `optionOf` reads a flag of the command line. */
export function environmentCredentials(
  env: Runtime['env'],
  optionOf: (flag: string) => string | undefined,
): EnvironmentCredential[] {
  return credentialSettings.flatMap(({ scheme, username, secret, namedBy }) => {
    const shared = { scheme, ...(username && { username: findSetting(username).variable }) };
    const { variable = '' } = findSetting(secret);
    const own = { ...shared, secret: variable };
    if (!namedBy) return own;
    const flag = settingFlagName(findSetting(namedBy));
    const named = optionOf(flag) ?? environmentSetting(namedBy, env);
    return named ? [{ ...shared, secret: named, namedBy: `--${flag}` }, own] : own;
  });
}

/** The variables that hold secrets, those of credentials and of other settings. */
export function secretVariables({ credentials = [] }: Pick<Runtime, 'credentials'>): string[] {
  const ofSettings = settings.flatMap(({ kind, variable }: Setting) => (kind === 'secret' && variable) || []);
  return [...new Set([...ofSettings, ...credentials.map(({ secret }) => secret)])];
}

/** The variables with values in which other tools expect a key, or a base URL. svc reads them only if a flag names them. */
export function otherToolVariables(what: 'key' | 'url', env: Runtime['env']): string[] {
  return variablesLike(
    what === 'key'
      ? /^(?!SVC_|API_KEY)(?:[A-Z]\w*_)?API_(?:KEY|TOKEN)$/
      : /^(?!SVC_)[A-Z]\w*_(?:BASE_URL|API_BASE)$|^OLLAMA_HOST$|^AZURE_OPENAI_ENDPOINT$/,
    env,
  );
}

/** The variables with values that are named as if svc read a key from them, such as SVC_API_KEY. */
export function misnamedKeys(env: Runtime['env']): string[] {
  return variablesLike(/^(?:SVC_(?:\w+_)?|API_)KEY$|^SVC_(?:API|AUTH|ACCESS|BEARER)_TOKEN$|^SVC_(?:SECRET|PASS)$/, env);
}

function variablesLike(names: RegExp, env: Runtime['env']): string[] {
  return Object.keys(env).filter((one) => names.test(one) && env[one]);
}
