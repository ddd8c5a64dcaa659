import { Failure } from '../../errors.ts';
import type { Runtime } from '../../runtime.ts';
import type { SelectedProfile } from '../select-profile.ts';
import { type AuthScheme, basicCredential, bearerCredential, type Credential } from './credential.ts';
import { readCommandSecret } from './credential-command.ts';
import { readKeychainSecret } from './keychain.ts';

/** Where a credential comes from. Nothing is run or opened before `read`. */
export interface CredentialSource {
  readonly scheme: AuthScheme;
  /** For messages, such as `profile "work"`. */
  readonly description: string;
  /** The user of a password. */
  readonly username: string | undefined;
  /** The origins it belongs to; undefined for any. */
  readonly origins: readonly string[] | undefined;
  /** Throws Failure `credentials` where it cannot be read within `limitMs` or cannot be sent. */
  readonly read: ReadFromSource<Credential>;
}

type ReadFromSource<T> = (runtime: Runtime, signal: AbortSignal, limitMs?: number) => Promise<T>;
type ReadSecret = ReadFromSource<string>;

/**
 * The source of the credential for a scheme: the environment, else the profile's credential_command, else the stored
 * credential; undefined for none. Throws Failure `credentials` where only one of SVC_USERNAME and SVC_PASSWORD is set.
 */
export function findCredentialSource(
  scheme: AuthScheme,
  selected: SelectedProfile,
  env: Runtime['env'],
): CredentialSource | undefined {
  return environmentSource(scheme, env) ?? commandSource(scheme, selected) ?? profileSource(scheme, selected);
}

/** The source of the credential for an origin. Throws Failure `credentials` where none is configured for this origin. */
export function requireCredentialSource(
  scheme: AuthScheme,
  origin: string,
  selected: SelectedProfile,
  env: Runtime['env'],
): CredentialSource {
  const source = findCredentialSource(scheme, selected, env);
  const isBasic = scheme === 'basic';
  if (!source)
    throw new Failure(
      'credentials',
      `no ${isBasic ? 'user name and password' : 'token'} for ${origin} (profile "${selected.name}")`,
      {
        hint: selected.profile.credential_command
          ? `credential_command needs a user name: svc profile set ${selected.name} --username NAME`
          : `run: svc auth login --profile ${selected.name}, or set ${isBasic ? 'SVC_USERNAME and SVC_PASSWORD' : 'SVC_TOKEN'}`,
        applied: 'no',
      },
    );
  const { origins, description } = source;
  if (origins === undefined || origins.includes(origin)) return source;
  throw new Failure(
    'credentials',
    `the ${isBasic ? 'password' : 'token'} of ${description} belongs to ${origins.join(', ') || 'no base URL'}, not to ${origin}`,
    {
      hint: selected.profile.credential_command
        ? `to use the command for this URL, run: svc profile set ${selected.name} --credential-command …`
        : `to store one for this URL, run: svc auth login --profile ${selected.name} --base-url ${origin}`,
      applied: 'no',
    },
  );
}

function environmentSource(
  scheme: AuthScheme,
  { SVC_USERNAME: user, SVC_PASSWORD: password, SVC_TOKEN: token }: Runtime['env'],
): CredentialSource | undefined {
  if (scheme === 'bearer')
    return token ? createSource(scheme, 'SVC_TOKEN', undefined, undefined, async () => token) : undefined;
  if (!user !== !password) {
    const [set, missing] = user ? ['SVC_USERNAME', 'SVC_PASSWORD'] : ['SVC_PASSWORD', 'SVC_USERNAME'];
    const facts = { hint: 'set both or none', applied: 'no' } as const;
    throw new Failure('credentials', `${set} is set but ${missing} is not`, facts);
  }
  return user && password
    ? createSource(scheme, 'SVC_USERNAME and SVC_PASSWORD', user, undefined, async () => password)
    : undefined;
}

function commandSource(scheme: AuthScheme, { name, profile }: SelectedProfile): CredentialSource | undefined {
  const { credential_command: command, username } = profile;
  if (!command || (scheme === 'basic' && username === undefined)) return undefined;
  const origins = profile[`${scheme}_command_origins`] ?? [];
  const readSecret: ReadSecret = (runtime, signal, limitMs) =>
    readCommandSecret(command, scheme, runtime, signal, limitMs);
  return createSource(scheme, `the credential_command of profile "${name}"`, username, origins, readSecret);
}

function profileSource(scheme: AuthScheme, { name, profile }: SelectedProfile): CredentialSource | undefined {
  const isBasic = scheme === 'basic';
  if (isBasic && profile.username === undefined) return undefined;
  const stored = isBasic ? profile.password : profile.token;
  const account = isBasic ? profile.password_key : profile.token_key;
  const origins = profile[`${scheme}_origins`] ?? [];
  if (stored !== undefined)
    return createSource(scheme, `profile "${name}"`, profile.username, origins, async () => stored);
  if (account === undefined) return undefined;
  const readSecret: ReadSecret = (runtime, signal) => readKeychainSecret(account, runtime, signal);
  return createSource(scheme, `profile "${name}" in the keychain`, profile.username, origins, readSecret);
}

function createSource(
  scheme: AuthScheme,
  description: string,
  username: string | undefined,
  origins: readonly string[] | undefined,
  readSecret: ReadSecret,
): CredentialSource {
  const user = scheme === 'basic' ? username : undefined;
  return {
    scheme,
    description,
    username: user,
    origins,
    read: async (runtime, signal, limitMs) => {
      const secret = await readSecret(runtime, signal, limitMs);
      return user === undefined ? bearerCredential(secret, description) : basicCredential(user, secret);
    },
  };
}
