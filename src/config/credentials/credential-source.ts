import { Failure } from '../../errors.ts';
import { shellWord } from '../../output/shell-quote.ts';
import type { Runtime } from '../../runtime.ts';
import { profileOrigins, type SelectedProfile } from '../select-profile.ts';
import { type AuthScheme, basicCredential, bearerCredential, type Credential } from './credential.ts';
import { readCommandSecret } from './credential-command.ts';
import { readKeychainSecret } from './keychain.ts';

/** The source of a credential. Nothing is run or opened before `read`. */
export interface CredentialSource {
  /** For messages, such as `profile "work"`. */
  readonly description: string;
  /** The next step after a service rejected it; undefined for a stored credential. */
  readonly correction: string | undefined;
  /** The user of a password. */
  readonly username: string | undefined;
  /** The origins it belongs to; undefined for any. */
  readonly origins: readonly string[] | undefined;
  /** Throws Failure `credentials` if it cannot be read within `limitMs` or cannot be sent. */
  readonly read: ReadFromSource<Credential>;
}

type ReadFromSource<T> = (runtime: Runtime, signal: AbortSignal, limitMs?: number) => Promise<T>;

/**
 * The source of the credential for a scheme: the environment, else the profile's credential_command, else the stored
 * credential; undefined for none. Throws Failure `credentials` if only one of SVC_USERNAME and SVC_PASSWORD is set.
 */
export function findCredentialSource(
  scheme: AuthScheme,
  { name, profile }: SelectedProfile,
  env: Runtime['env'],
): CredentialSource | undefined {
  const fromEnvironment = environmentSource(scheme, env);
  if (fromEnvironment) return fromEnvironment;
  const isBasic = scheme === 'basic';
  const username = isBasic ? profile.username : undefined;
  if (isBasic && username === undefined) return undefined;
  const { credential_command: command } = profile;
  if (command) {
    const description = `the credential_command of profile "${name}"`;
    const origins = profile[`${scheme}_command_origins`] ?? [];
    const readSecret: ReadFromSource<string> = (...limits) => readCommandSecret(command, scheme, ...limits);
    return createSource(description, username, origins, readSecret, `correct the output of ${description}`);
  }
  const origins = profile[`${scheme}_origins`] ?? [];
  const stored = isBasic ? profile.password : profile.token;
  if (stored !== undefined) return createSource(`profile "${name}"`, username, origins, async () => stored);
  const account = isBasic ? profile.password_key : profile.token_key;
  if (account === undefined) return undefined;
  return createSource(`profile "${name}" in the keychain`, username, origins, (runtime, signal) =>
    readKeychainSecret(account, runtime, signal),
  );
}

/** The source of the credential for a base URL. Throws Failure `credentials` if none is configured for its origin. */
export function requireCredentialSource(
  scheme: AuthScheme,
  baseUrl: string,
  selected: SelectedProfile,
  env: Runtime['env'],
): CredentialSource {
  const source = findCredentialSource(scheme, selected, env);
  const { origin } = new URL(baseUrl);
  const isBasic = scheme === 'basic';
  const { name, profile } = selected;
  const [secrets, secret, variables] = isBasic
    ? ['user name and password', 'password', 'SVC_USERNAME and SVC_PASSWORD']
    : ['token', 'token', 'SVC_TOKEN'];
  const login = `svc auth login --profile ${name}`;
  const loginHere = `${login} --base-url ${shellWord(baseUrl)}`;
  if (!source) {
    const isInProfile = profileOrigins(profile, ['trace', 'chat', 'train']).includes(origin);
    const hint = profile.credential_command
      ? `credential_command needs a user name: svc profile set ${name} --username NAME`
      : `run: ${isInProfile ? login : loginHere}, or set ${variables}`;
    throw new Failure('credentials', `no ${secrets} for ${origin} (profile "${name}")`, { hint, applied: 'no' });
  }
  const { origins, description } = source;
  if (origins === undefined || origins.includes(origin)) return source;
  const owner = origins.join(', ') || 'no base URL';
  const hint = profile.credential_command
    ? `to use the command for this URL, run: svc profile set ${name} --credential-command …`
    : `to store one for this URL, run: ${loginHere}`;
  const message = `the ${secret} of ${description} belongs to ${owner}, not to ${origin}`;
  throw new Failure('credentials', message, { hint, applied: 'no' });
}

function environmentSource(
  scheme: AuthScheme,
  { SVC_USERNAME: user, SVC_PASSWORD: password, SVC_TOKEN: token }: Runtime['env'],
): CredentialSource | undefined {
  if (scheme === 'bearer' && token)
    return createSource('SVC_TOKEN', undefined, undefined, async () => token, 'correct or unset SVC_TOKEN');
  if (scheme === 'bearer') return undefined;
  if (!user !== !password) {
    const [set, missing] = user ? ['SVC_USERNAME', 'SVC_PASSWORD'] : ['SVC_PASSWORD', 'SVC_USERNAME'];
    const facts = { hint: 'set both or none', applied: 'no' } as const;
    throw new Failure('credentials', `${set} is set but ${missing} is not`, facts);
  }
  if (!user || !password) return undefined;
  const variables = 'SVC_USERNAME and SVC_PASSWORD';
  return createSource(variables, user, undefined, async () => password, `correct or unset ${variables}`);
}

// With a user name the secret is a password, else a token.
function createSource(
  description: string,
  username: string | undefined,
  origins: readonly string[] | undefined,
  readSecret: ReadFromSource<string>,
  correction?: string,
): CredentialSource {
  return {
    description,
    correction,
    username,
    origins,
    read: async (runtime, signal, limitMs) => {
      const secret = await readSecret(runtime, signal, limitMs);
      return username === undefined ? bearerCredential(secret, description) : basicCredential(username, secret);
    },
  };
}
