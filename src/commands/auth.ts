import { createBodyInputs } from '../body/input-reader.ts';
import { decodeLine } from '../body/json-source.ts';
import { readAuthorization } from '../client/connection.ts';
import { resolveSettings, type Settings } from '../client/resolve-settings.ts';
import { probeFeedbackSchema } from '../client/send.ts';
import type { RunCommand } from '../command.ts';
import { findBaseUrl, parseBaseUrl, type ServiceHost, serviceHosts } from '../config/base-url.ts';
import { basicAuthorization, bearerAuthorization, storedCredential } from '../config/credentials/credential.ts';
import { promptLine, promptObstacle, promptSecret } from '../config/credentials/prompt.ts';
import { removeFromKeychain, storeInKeychain } from '../config/credentials/secret-programs.ts';
import {
  DEFAULT_PROFILE_NAME,
  getProfile,
  LOCAL_PROFILE_NAME,
  type Profile,
  parseProfileName,
  profileStorePath,
  readProfiles,
  updateProfiles,
} from '../config/profile-store.ts';
import {
  authScheme,
  originMismatchWarnings,
  profileOrigins,
  schemeOrigins,
  selectProfile,
} from '../config/select-profile.ts';
import { applyProfileChanges, type ProfileChanges, readProfileChanges } from '../config/setting-kinds.ts';
import {
  environmentSetting,
  type ServiceOptions,
  type StoredOptions,
  type VariableOptions,
} from '../config/settings.ts';
import type { Context } from '../context.ts';
import { Failure, toFailure, usageFailure } from '../errors.ts';
import { formatByteSize } from '../files/byte-size.ts';
import { isGiven, type OptionsOfList } from '../flag.ts';
import { isLoopbackUrl } from '../http/proxy.ts';
import { feedbackSchemaOperation } from '../operations/feedback-schema.ts';
import { redactUserInfo } from '../output/redaction.ts';
import type { credentialFlags } from './definitions/command-flags.ts';

const MAX_SECRET_BYTES = 64 * 1024;

type LoginOptions = Omit<ServiceOptions, keyof VariableOptions | 'local'> &
  Pick<StoredOptions, 'traceBaseUrl' | 'chatBaseUrl' | 'trainBaseUrl' | 'username' | 'projectId'> &
  OptionsOfList<typeof credentialFlags>;

/** Stores credentials bound to the current origins of the profile; throws Failure `credentials` if the service rejects them. */
export const runAuthLogin: RunCommand<LoginOptions> = async ({ options }, context) => {
  const { runtime, report } = context;
  const stored = await readProfiles(context);
  const current = stored.current === LOCAL_PROFILE_NAME ? undefined : stored.current;
  const name = parseProfileName(
    options.profile || environmentSetting('profile', runtime.env) || current || DEFAULT_PROFILE_NAME,
  );
  // Other settings, such as a time limit, are those of the request that verifies a password.
  const { baseUrl, traceBaseUrl, chatBaseUrl, trainBaseUrl, username, projectId } = options;
  const urls = { baseUrl, traceBaseUrl, chatBaseUrl, trainBaseUrl };
  const changes = readProfileChanges({ ...urls, username, projectId }, runtime.cwd);
  requireValues(changes, name);
  const earlier = getProfile(stored, name);
  const hosts = await askPurpose(changes, options, context);
  const settings = await withBaseUrl(earlier, changes, context);
  const changed = applyProfileChanges(earlier, settings);
  await noteReplacedUrls(name, earlier, settings, context);
  const entered = await readCredentials(name, changed, hosts, options, context);
  const replaced = secretKinds.filter((kind) => hasSecret(earlier, kind) && entered[originsOf[kind]]);
  if (replaced.length > 0) await report.note(`replacing the stored ${replaced.join(' and ')} of profile "${name}"`);
  if (!options.noVerify) {
    if (entered.password !== undefined)
      await verifyPassword(name, replaceCredentials(changed, entered), options, context);
    if (entered.token !== undefined)
      await report.note('the token was not verified: every request that uses it costs money or changes data');
  }
  const credentials = options.keychain ? await storeInKeychain(entered, name, context) : entered;
  // Reads the profile again: another svc process may have changed it in the meantime.
  const { before, after } = await updateProfiles(context, (latest) => {
    const updated = replaceCredentials(applyProfileChanges(getProfile(latest, name), settings), credentials);
    return { current: name, ...latest, profiles: { ...latest.profiles, [name]: updated } };
  }).catch(async (error: unknown) => {
    await removeFromKeychain(credentials, {}, context);
    throw error;
  });
  const profile = getProfile(after, name);
  await removeFromKeychain(getProfile(before, name), profile, context);
  for (const warning of originMismatchWarnings(name, profile)) await report.warn(warning);
  if (profile.credential_command)
    await report.warn(`credential_command of profile "${name}" takes precedence over the stored credentials`);
  const { current: selected } = after;
  const isNewlyUsed = stored.current === undefined && selected === name && name !== DEFAULT_PROFILE_NAME;
  const target = `profile "${name}"${isNewlyUsed ? ' (now in use)' : ''} in ${profileStorePath(runtime)}`;
  // The probe reads feedback, which a model server without a key does not have.
  const probe = options.noToken ? '' : ' --probe';
  await report.note(`stored in ${target}; next: svc doctor${probe} --profile ${name}`);
  if (selected !== name && !environmentSetting('profile', runtime.env))
    await report.note(`the profile in use is still "${selected}"; to use this one, run: svc profile use ${name}`);
};

// An unset variable of a CI job must not remove what the profile has.
function requireValues(changes: ProfileChanges, profile: string): void {
  const empty = Object.keys(changes).find((name) => changes[name] === '');
  if (empty === undefined) return;
  const flag = `--${empty.replaceAll('_', '-')}`;
  throw usageFailure(`${flag} is empty`, `to remove the value, run: svc profile set ${profile} ${flag} ''`);
}

async function withBaseUrl(profile: Profile, settings: ProfileChanges, context: Context): Promise<ProfileChanges> {
  if (profileOrigins(applyProfileChanges(profile, settings)).length > 0) return settings;
  const base_url = (await promptLine(context, 'Base URL: ', '--base-url')).trim();
  parseBaseUrl(base_url, 'base URL');
  return { ...settings, base_url };
}

async function noteReplacedUrls(name: string, earlier: Profile, settings: ProfileChanges, { report }: Context) {
  for (const key of ['base_url', ...serviceHosts.map((host) => `${host}_base_url` as const)] as const) {
    const [before, after] = [earlier[key], settings[key]];
    if (before !== undefined && after !== undefined && before !== after)
      await report.note(`replacing ${key} of profile "${name}": ${redactUserInfo(before)} becomes ${after}`);
  }
}

const secretFlags = ['username', 'password-stdin', 'password-file', 'token-stdin', 'token-file', 'no-token'];

const hostsByPurpose: readonly (readonly [words: RegExp, host: ServiceHost])[] = [
  [/^chats?$/i, 'chat'],
  [/^(training|train|jobs?)$/i, 'train'],
  [/^(traces?|tracing|feedback|calls?)$/i, 'trace'],
];

const hostUses = { chat: 'chat', train: 'training', trace: 'traces' } as const;

// The hosts to ask credentials for: those whose URL a flag names, else those of the answer.
async function askPurpose(
  changes: ProfileChanges,
  options: LoginOptions,
  context: Context,
): Promise<readonly ServiceHost[]> {
  const named = changes.base_url ? [] : serviceHosts.filter((host) => changes[`${host}_base_url`] !== undefined);
  if (named.length > 0) return named;
  if (promptObstacle(context) || isGiven(options, ...secretFlags)) return serviceHosts;
  const question = 'What is the server for? chats, training, traces (empty for all): ';
  const words = (await promptLine(context, question, '--token-file')).split(/[\s,]+|\band\b/).filter(Boolean);
  const hosts = words.map((word) => hostsByPurpose.find(([known]) => known.test(word))?.[1]);
  if (words.length === 0 || words.includes('all')) return serviceHosts;
  const unknown = words[hosts.indexOf(undefined)];
  if (unknown !== undefined)
    throw usageFailure(
      `${JSON.stringify(unknown)} is not a use of a server`,
      'write chats, training or traces, or several',
    );
  return serviceHosts.filter((host) => hosts.includes(host));
}

async function readCredentials(
  name: string,
  profile: Profile,
  hosts: readonly ServiceHost[],
  options: LoginOptions,
  context: Context,
): Promise<Profile> {
  const { passwordFile, passwordStdin, tokenFile, tokenStdin, username, noToken } = options;
  const passwordPath = secretPath('password', passwordFile, passwordStdin);
  const tokenPath = secretPath('token', tokenFile, tokenStdin);
  if (passwordPath === '-' && tokenPath === '-')
    throw usageFailure('only one secret can be read from stdin', 'pass the other with --password-file or --token-file');
  const [password, token] = [await readSecret(passwordPath, context), await readSecret(tokenPath, context)];
  if (password === undefined && token === undefined && !noToken) {
    const urls = profileOrigins(profile).join(', ');
    if (!promptObstacle(context)) await context.report.note(`logging in to ${urls} (profile "${name}")`);
    if (username === undefined) return promptForCredentials(profile, hosts, context);
  }
  const hasPassword = username !== undefined || password !== undefined;
  return {
    ...(hasPassword ? await basicCredentials(profile, username, password, context) : {}),
    ...(token === undefined ? {} : bearerCredentials(profile, token)),
    ...(noToken ? { ...openOrigins(profile, ['chat', 'train']), bearer_origins: [] } : {}),
  };
}

// The origins of these hosts, of all if they have none, need no credential.
function openOrigins(profile: Profile, hosts: readonly ServiceHost[]): Profile {
  const own = profileOrigins(profile, hosts);
  const origins = own.length > 0 ? own : profileOrigins(profile);
  return { open_origins: [...new Set([...(profile.open_origins ?? []), ...origins])] };
}

function secretPath(kind: string, path: string | undefined, isStdin: true | undefined): string | undefined {
  if (!isStdin) return path;
  if (path === undefined) return '-';
  throw usageFailure(`--${kind}-stdin cannot be combined with --${kind}-file`, 'remove one of them');
}

async function readSecret(path: string | undefined, context: Context): Promise<string | undefined> {
  if (path === undefined) return undefined;
  const bytes = await createBodyInputs(context).read(path);
  const label = path === '-' ? 'stdin' : path;
  if (bytes.length <= MAX_SECRET_BYTES) return decodeLine(label, bytes);
  throw new Failure('local_file', `cannot read ${label}: a secret has at most ${formatByteSize(MAX_SECRET_BYTES)}`);
}

// Without an answer, what is stored stays; if nothing is stored for the hosts, they need no credential.
async function promptForCredentials(profile: Profile, hosts: readonly ServiceHost[], context: Context) {
  const hint = 'pass --token-stdin, --token-file, --no-token, or --username with --password-stdin or --password-file';
  const obstacle = promptObstacle(context);
  if (obstacle) throw new Failure('credentials', `cannot prompt for credentials ${obstacle}`, { hint });
  const ifEmpty = (kind: SecretKind): string => (hasSecret(profile, kind) ? 'keeps the stored one' : 'for none');
  const tokenHosts = hosts.filter((host) => authScheme(host, profile) === 'bearer');
  let entered: Profile = {};
  if (tokenHosts.length < hosts.length) {
    const question = `User name for feedback and calls (empty ${ifEmpty('password')}): `;
    const username = await promptLine(context, question, '--username');
    if (username !== '') entered = await basicCredentials(profile, username, undefined, context);
  }
  if (tokenHosts.length > 0) {
    const use = new Intl.ListFormat('en').format(tokenHosts.map((host) => hostUses[host]));
    const token = await promptSecret(context, `Token for ${use} (empty ${ifEmpty('token')}): `, hint);
    if (token !== '') entered = { ...entered, ...bearerCredentials(profile, token) };
  }
  if (Object.keys(entered).length > 0) return entered;
  const isStored = (host: ServiceHost): boolean => {
    const kind = authScheme(host, profile) === 'basic' ? 'password' : 'token';
    const origins = (hasSecret(profile, kind) && profile[originsOf[kind]]) || [];
    return profileOrigins(profile, [host]).every((origin) => origins.includes(origin));
  };
  const open = hosts.filter((host) => !isStored(host));
  if (open.length < hosts.length) await context.report.note('kept the stored credentials');
  if (open.length === 0) return {};
  const origins = profileOrigins(profile, open);
  await context.report.note(`svc sends requests to ${origins.join(', ')} without credentials`);
  return openOrigins(profile, open);
}

async function basicCredentials(
  profile: Profile,
  enteredUsername: string | undefined,
  enteredPassword: string | undefined,
  context: Context,
): Promise<Profile> {
  const username = enteredUsername ?? profile.username;
  if (!username) throw usageFailure('a password needs a user name', 'add --username');
  const password =
    enteredPassword ??
    (await promptSecret(context, `Password of ${username}: `, 'pass --password-stdin or --password-file'));
  basicAuthorization(username, password);
  if (password === '' && hasSecret(profile, 'password'))
    throw new Failure('credentials', 'the password is empty; the stored one was kept');
  // Basic authentication allows it; an unset CI secret looks the same.
  if (password === '') await context.report.warn('the password is empty');
  return { username, password, basic_origins: schemeOrigins('basic', profile) };
}

function bearerCredentials(profile: Profile, token: string): Profile {
  bearerAuthorization(token, 'the input');
  return { token, bearer_origins: schemeOrigins('bearer', profile) };
}

type SecretKind = 'password' | 'token';

const originsOf = { password: 'basic_origins', token: 'bearer_origins' } as const;

const secretKinds = ['password', 'token'] as const;

function hasSecret(profile: Profile, kind: SecretKind): boolean {
  return (profile[kind] ?? profile[`${kind}_key`]) !== undefined;
}

// A new secret replaces the one of its kind, in the profile or in the keychain.
function replaceCredentials(profile: Profile, credentials: Profile): Profile {
  const { password, password_key, ...withoutPassword } = profile;
  const withoutReplaced = credentials.basic_origins ? withoutPassword : profile;
  const { token, token_key, ...withoutToken } = withoutReplaced;
  return { ...(credentials.bearer_origins ? withoutToken : withoutReplaced), ...credentials };
}

// With a request that changes nothing (docs/internals/contract.md, credentials). Throws Failure `credentials` if the service rejects it.
async function verifyPassword(
  name: string,
  { credential_command, ...profile }: Profile,
  { header, timeout, retries, cacert, cert, key, allowHttp }: LoginOptions,
  context: Context,
) {
  const { report, signal } = context;
  const skip = (reason: string): Promise<void> => report.note(`the password was not verified: ${reason}`);
  if (schemeOrigins('basic', profile).length === 0) return skip('no base URL of the profile uses one');
  const selected = { name, source: '--profile', isLocal: false, profile };
  // What is verified is the profile, not the base URL and the credentials that the environment has for other requests.
  const baseUrl = findBaseUrl('trace', undefined, {}, profile)?.text;
  let settings: Settings | undefined;
  try {
    const connection = { baseUrl, header, timeout, retries, cacert, cert, key, allowHttp };
    settings = await resolveSettings(feedbackSchemaOperation, connection, context, selected);
    const project = settings.defaults.project.text;
    if (!project) return await skip('no project is known; add --project-id to verify it');
    const url = settings.destination?.url;
    if (url?.protocol === 'http:' && !isLoopbackUrl(url)) return await skip(`${url.origin} is plain http`);
    const authorization = await readAuthorization(settings, context, storedCredential('basic', selected));
    await probeFeedbackSchema(project, settings, context, authorization);
    await report.note(`verified the password of ${profile.username} with svc feedback schema (project ${project})`);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    const failure = toFailure(error);
    if (failure.code === 'bug') throw error;
    if (failure.code !== 'credentials' || !settings)
      return await report.warn(`the password was not verified: ${failure.message}`);
    const hint =
      failure.facts.status === 403
        ? `ask for permission on project ${settings.defaults.project.text}, or store the credentials anyway with --no-verify`
        : `check the user name and password for ${settings.destination?.url.origin}, or store them anyway with --no-verify`;
    throw failure.with({ hint }, `${failure.message}; nothing was stored`);
  }
}

export const runAuthLogout: RunCommand<Pick<ServiceOptions, 'profile'>> = async ({ options }, context) => {
  const { report } = context;
  const { name } = await selectProfile(options, context, 'to list the profiles, run: svc profile list');
  parseProfileName(name);
  const { before } = await updateProfiles(context, (stored) => {
    const profile = getProfile(stored, name);
    const { username, password, token, password_key, token_key, basic_origins, bearer_origins, open_origins, ...rest } =
      profile;
    return hasCredentials(profile) ? { ...stored, profiles: { ...stored.profiles, [name]: rest } } : stored;
  });
  const profile = getProfile(before, name);
  await removeFromKeychain(profile, {}, context);
  await report.note(hasCredentials(profile) ? `removed the credentials of "${name}"` : `"${name}" has no credentials`);
};

function hasCredentials(profile: Profile): boolean {
  return profile.open_origins !== undefined || secretKinds.some((kind) => hasSecret(profile, kind));
}
