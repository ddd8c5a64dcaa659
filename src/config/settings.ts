import type { CamelCase, Flag, FlagList, KnownNameKind, Options } from '../flag.ts';
import { flagGroup, withDefault } from '../flag.ts';
import type { Runtime } from '../runtime.ts';

const placeholders = {
  text: '<text>',
  url: '<url>',
  username: '<text>',
  project: '<entity/project>',
  secret: '<text>',
  variable: '<variable>',
  headers: '<name: value>',
  command: '<command>',
  file: '<file>',
  directory: '<directory>',
  duration: '<duration>',
  count: '<n>',
  statuses: '<status,...>',
  price: '<n>',
  choice: '<text>',
  switch: '<1>',
  proxy: '<url>',
} as const;

/** The kind of a value (setting-kinds.ts), which determines the JSON type in a profile and the placeholder in help. */
export type SettingKind = keyof typeof placeholders;

/** A setting: everything that flags, environment, profiles, `svc doctor` and the docs know about it. */
export interface Setting {
  readonly name: string;
  readonly kind: SettingKind;
  readonly summary: string;
  /** The commands that get the flag: all requests, all commands, batches, or only those that change profiles. */
  readonly flag?: 'requests' | 'all' | 'batches' | 'profiles';
  readonly flagName?: string;
  readonly short?: string;
  readonly value?: string;
  readonly variable?: string;
  readonly isStored?: true;
  readonly isProject?: true;
  readonly default?: string;
  readonly completes?: KnownNameKind;
  readonly choices?: readonly string[];
}

// biome-ignore format: one line per setting
/** All settings, in the order of help and `svc doctor` (docs/internals/contract.md, section 4). To add one, add a line. */
export const settings = [
  { name: 'profile', kind: 'text', summary: 'Profile to use; "local" selects the local service', flag: 'requests', value: '<name>', variable: 'SVC_PROFILE', completes: 'profiles' },
  { name: 'base_url', kind: 'url', summary: 'Base URL of the service', flag: 'requests', variable: 'SVC_BASE_URL', isStored: true },
  { name: 'trace_base_url', kind: 'url', summary: 'Base URL for feedback and calls only', flag: 'profiles', variable: 'SVC_TRACE_BASE_URL', isStored: true },
  { name: 'chat_base_url', kind: 'url', summary: 'Base URL for chat completions only', flag: 'profiles', variable: 'SVC_CHAT_BASE_URL', isStored: true },
  { name: 'train_base_url', kind: 'url', summary: 'Base URL for training jobs only', flag: 'profiles', variable: 'SVC_TRAIN_BASE_URL', isStored: true },
  { name: 'username', kind: 'username', summary: 'User name for feedback and calls', flag: 'profiles', variable: 'SVC_USERNAME', isStored: true },
  { name: 'password', kind: 'secret', summary: 'Password for feedback and calls', variable: 'SVC_PASSWORD', isStored: true },
  { name: 'token', kind: 'secret', summary: 'Token for chat completions and training jobs', variable: 'SVC_TOKEN', isStored: true },
  { name: 'token_env', kind: 'variable', summary: 'Environment variable that holds the token, instead of SVC_TOKEN', flag: 'requests' },
  { name: 'credential_command', kind: 'command', summary: 'Program that prints the password or token: a command line or a JSON array, run without a shell', flag: 'profiles', isStored: true },
  { name: 'trace_auth', kind: 'choice', summary: 'Authorization of feedback and calls: the user name and password, or the token', flag: 'profiles', isStored: true, choices: ['basic', 'bearer'], default: 'basic' },
  { name: 'headers', kind: 'headers', summary: 'Header to add (repeatable)', flag: 'requests', flagName: 'header', short: 'H', isStored: true },
  { name: 'project_id', kind: 'project', summary: 'Project for bodies that do not name one', flag: 'profiles', variable: 'SVC_PROJECT_ID', isStored: true, isProject: true, completes: 'projects' },
  { name: 'model', kind: 'text', summary: 'Model for chats that do not name one', flag: 'profiles', short: 'm', variable: 'SVC_MODEL', isStored: true, isProject: true, completes: 'models' },
  { name: 'timeout', kind: 'duration', summary: 'Time limit for the whole request: 90s, 1h30m, 1d; 0 for none', flag: 'requests', variable: 'SVC_TIMEOUT', isStored: true, default: '2m for feedback and calls, none for chat and train' },
  { name: 'retries', kind: 'count', summary: 'Retries after transient failures, when safe; 0 disables them', flag: 'requests', variable: 'SVC_RETRIES', isStored: true, default: '3' },
  { name: 'overload_statuses', kind: 'statuses', summary: 'Statuses (500 to 599) with which the chat service refuses a request without running it, such as 503,529', flag: 'profiles', isStored: true },
  { name: 'price_prompt', kind: 'price', summary: 'Price of a million prompt tokens, if the service reports no cost', flag: 'batches', isStored: true },
  { name: 'price_completion', kind: 'price', summary: 'Price of a million completion tokens', flag: 'batches', isStored: true },
  { name: 'history', kind: 'choice', summary: 'History of requests for svc log: off, on, or bodies, which also records bodies', flag: 'profiles', variable: 'SVC_HISTORY', isStored: true, choices: ['off', 'on', 'bodies'], default: 'off' },
  { name: 'cacert', kind: 'file', summary: 'PEM file of additional CA certificates', flag: 'requests', isStored: true },
  { name: 'cert', kind: 'file', summary: 'PEM file of a client certificate', flag: 'requests' },
  { name: 'key', kind: 'file', summary: 'PEM file of the private key of --cert, without a passphrase', default: 'the --cert file', flag: 'requests' },
  { name: 'shard', kind: 'text', summary: 'Process only one of n parts: 3/10 is the third tenth of a file, or every 10th line of a pipe or of --rows; auto reads it from the scheduler', flag: 'batches', value: '<i/n|auto[/n]>', variable: 'SVC_SHARD' },
  { name: 'error_format', kind: 'choice', summary: 'Format of messages on stderr: text or json', flag: 'all', variable: 'SVC_ERROR_FORMAT', choices: ['text', 'json'], default: 'text' },
  { name: 'upstream_token', kind: 'secret', summary: 'Token for the server of svc serve --upstream', variable: 'SVC_UPSTREAM_TOKEN' },
  { name: 'no_project_file', kind: 'switch', summary: 'Ignore .svc.json files of projects', variable: 'SVC_NO_PROJECT_FILE' },
  { name: 'config_dir', kind: 'directory', summary: 'Directory of the profiles', variable: 'SVC_CONFIG_DIR' },
  { name: 'data_dir', kind: 'directory', summary: 'Directory of the local service, the histories and the spool', variable: 'SVC_DATA_DIR' },
  { name: 'xdg_config_home', kind: 'text', summary: 'Parent of the svc directory of the profiles; SVC_CONFIG_DIR wins', variable: 'XDG_CONFIG_HOME' },
  { name: 'xdg_data_home', kind: 'text', summary: 'Parent of the svc data directory; SVC_DATA_DIR wins', variable: 'XDG_DATA_HOME' },
  { name: 'xdg_cache_home', kind: 'text', summary: 'Parent of the svc directory of compiled code', variable: 'XDG_CACHE_HOME' },
  { name: 'traceparent', kind: 'text', summary: 'Parent of new calls (W3C Trace Context)', variable: 'TRACEPARENT' },
  { name: 'pguser', kind: 'text', summary: 'User of svc serve --data postgres://host/database', variable: 'PGUSER' },
  { name: 'pgpassword', kind: 'secret', summary: 'Password of svc serve --data postgres://...', variable: 'PGPASSWORD' },
  { name: 'pgpassfile', kind: 'text', summary: 'File with that password, if PGPASSWORD is not set', variable: 'PGPASSFILE', default: '~/.pgpass' },
  { name: 'https_proxy', kind: 'proxy', summary: 'Proxy for https; never used for loopback', variable: 'HTTPS_PROXY' },
  { name: 'http_proxy', kind: 'proxy', summary: 'Proxy for http; never used for loopback', variable: 'HTTP_PROXY' },
  { name: 'all_proxy', kind: 'proxy', summary: 'Proxy for what HTTPS_PROXY or HTTP_PROXY would name, if that is not set', variable: 'ALL_PROXY' },
  { name: 'no_proxy', kind: 'proxy', summary: 'Hosts to connect to without a proxy', variable: 'NO_PROXY' },
  { name: 'node_extra_ca_certs', kind: 'file', summary: 'PEM file of additional CA certificates', variable: 'NODE_EXTRA_CA_CERTS' },
  { name: 'no_color', kind: 'switch', summary: 'No color', variable: 'NO_COLOR' },
  { name: 'clicolor', kind: 'text', summary: 'No color if 0', variable: 'CLICOLOR' },
  { name: 'clicolor_force', kind: 'text', summary: 'Color even without a terminal, unless 0', variable: 'CLICOLOR_FORCE' },
  { name: 'force_color', kind: 'text', summary: 'Color even without a terminal; no color if 0', variable: 'FORCE_COLOR' },
  { name: 'columns', kind: 'text', summary: 'Width of help if there is no terminal', variable: 'COLUMNS' },
  { name: 'pager', kind: 'command', summary: 'Program that shows long help on a terminal', variable: 'PAGER' },
  { name: 'browser', kind: 'command', summary: 'Program of svc serve --open', variable: 'BROWSER' },
  { name: 'term', kind: 'text', summary: 'No color and no progress if dumb', variable: 'TERM' },
  { name: 'ci', kind: 'switch', summary: 'No progress, no prompts and no interactive session, unless 0, false, no or off', variable: 'CI' },
  { name: 'github_actions', kind: 'switch', summary: 'With CI: feedback schema --expect also prints annotations', variable: 'GITHUB_ACTIONS' },
] as const satisfies readonly Setting[];

type AnySetting = (typeof settings)[number];

export type SettingName = AnySetting['name'];

export type StoredSettings = {
  readonly [S in Extract<AnySetting, { isStored: true }> as S['name']]?: StoredValue<S['kind']>;
};

type StoredValue<K extends SettingKind> = K extends 'command'
  ? readonly string[]
  : K extends 'headers'
    ? { readonly [name: string]: string }
    : string;

/** Removes one final line break from each variable of a setting, as from the file of a secret. */
export function trimVariables(runtime: Runtime): Runtime {
  const variables = settings.flatMap(({ variable }: Setting) => variable ?? []);
  const broken = variables.filter((variable) => runtime.env[variable]?.endsWith('\n'));
  if (broken.length === 0) return runtime;
  const trimmed = broken.map((variable) => [variable, runtime.env[variable]?.replace(/\r?\n$/, '')]);
  return { ...runtime, env: { ...runtime.env, ...Object.fromEntries(trimmed) } };
}

/** The variable of a setting; undefined if it is unset or empty. */
export function environmentSetting(name: SettingName, env: Runtime['env']): string | undefined {
  return env[findSetting(name).variable ?? ''] || undefined;
}

export function findSetting(name: SettingName): Setting {
  return settings.find((setting) => setting.name === name) ?? { name, kind: 'text', summary: '' };
}

export function settingFlagName({ flagName, name }: Setting): string {
  return flagName ?? name.replaceAll('_', '-');
}

export function settingFlag(name: SettingName): Flag {
  const setting = findSetting(name);
  const { kind, short, value, choices, completes, default: fallback, flag, isProject } = setting;
  return {
    name: settingFlagName(setting),
    ...(short ? { short } : {}),
    takes: kind === 'headers' ? 'values' : 'value',
    value: value ?? (choices ? `<${choices.join('|')}>` : placeholders[kind]),
    ...(choices ? { choices } : {}),
    ...(completes ? { completes } : {}),
    ...withDefault({ summary: setting.summary, ...(fallback === undefined ? {} : { default: fallback }) }),
    group: isProject ? 'Common' : flag === 'all' ? 'Output' : flag === 'batches' ? 'Batch' : 'Connection',
  };
}

type OptionsOf<S> = {
  readonly [One in S as One extends { name: string } ? OptionName<One> : never]:
    | (One extends { kind: 'headers' } ? readonly string[] : string)
    | undefined;
};

type OptionName<S extends { name: string }> = CamelCase<S extends { flagName: infer Name } ? Name : Dashed<S['name']>>;

type Dashed<Name> = Name extends `${infer First}_${infer Rest}` ? `${First}-${Dashed<Rest>}` : Name;

/** The flags of the settings of batches. */
export type BatchSettingOptions = OptionsOf<Extract<AnySetting, { flag: 'batches' }>>;

/** The flags that name the variable of a credential. */
export type VariableOptions = OptionsOf<Extract<AnySetting, { kind: 'variable' }>>;

/** The flags of the settings that profiles store. */
export type StoredOptions = OptionsOf<Extract<AnySetting, { isStored: true; flag: string }>>;

const connectionForms = {
  '--local': 'Use the local service; needs no network and no credentials',
  '--allow-http': 'Allow credentials over plain http',
} as const;

/** The flags of all requests: where they go, and how. */
export type ServiceOptions = OptionsOf<Extract<AnySetting, { flag: 'requests' }>> & Options<typeof connectionForms>;

export function serviceFlags(): FlagList<ServiceOptions> {
  const names = settings.flatMap((setting: Setting & { readonly name: SettingName }) =>
    setting.flag === 'requests' && setting.name !== 'profile' ? [setting.name] : [],
  );
  const [local, ...others] = flagGroup('Connection', connectionForms);
  return [settingFlag('profile'), ...(local ? [local] : []), ...names.map(settingFlag), ...others];
}

/** The same for a request that checks a service: it is not repeated unless someone asks for it. */
export function probeFlags(): FlagList<ServiceOptions> {
  return serviceFlags().map((flag) =>
    flag.name === 'retries'
      ? { ...flag, ...withDefault({ summary: findSetting('retries').summary, default: '0' }) }
      : flag,
  );
}
