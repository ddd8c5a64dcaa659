import { Failure } from '../errors.ts';
import type { Runtime } from '../runtime.ts';
import { basicCredential, bearerCredential, type Credential, type Scheme } from './credential.ts';
import { commandSecret } from './credential-command.ts';
import { keychainSecret } from './keychain.ts';
import type { Chosen } from './resolve.ts';

/** Where a credential comes from. Nothing is run or opened before it is read. */
export interface CredentialSource {
  readonly scheme: Scheme;
  /** In words, for people. */
  readonly from: string;
  /** Whom a password belongs to. */
  readonly username: string | undefined;
  /** The origins it was given for and may be sent to; anywhere if undefined. */
  readonly origins: readonly string[] | undefined;
  /** Throws Failure `credentials` where there turns out to be none that can be used. */
  readonly read: (runtime: Runtime, signal: AbortSignal) => Promise<Credential>;
}

type Secret = (runtime: Runtime, signal: AbortSignal) => Promise<string>;

/**
 * The source of the credential for a scheme: the environment, else of the profile the command that prints it, else what is
 * stored; undefined for none. Throws Failure `credentials` for half of one.
 */
export function sourceOf(scheme: Scheme, chosen: Chosen, env: Runtime['env']): CredentialSource | undefined {
  return fromEnvironment(scheme, env) ?? fromCommand(scheme, chosen) ?? fromStore(scheme, chosen);
}

/** The source of the credential for an origin. Throws Failure `credentials` where there is none, or none for this origin. */
export function sourceFor(scheme: Scheme, origin: string, chosen: Chosen, env: Runtime['env']): CredentialSource {
  const source = sourceOf(scheme, chosen, env);
  const isBasic = scheme === 'basic';
  if (!source)
    throw new Failure('credentials', `there is no ${isBasic ? 'user and password' : 'token'} for ${origin}`, {
      hint: chosen.profile.credential_command
        ? `svc profile set ${chosen.name} --username gives the command a user`
        : `svc auth login, or set ${isBasic ? 'SVC_USERNAME and SVC_PASSWORD' : 'SVC_TOKEN'}`,
      applied: 'no',
    });
  const { origins, from } = source;
  if (origins === undefined || origins.includes(origin)) return source;
  throw new Failure(
    'credentials',
    `the ${isBasic ? 'password' : 'token'} of ${from} belongs to ${origins.join(', ') || 'no address'}, not to ${origin}`,
    {
      hint: chosen.profile.credential_command
        ? 'svc profile set sets the command for this address'
        : 'log in for this address with svc auth login',
      applied: 'no',
    },
  );
}

function fromEnvironment(
  scheme: Scheme,
  { SVC_USERNAME: user, SVC_PASSWORD: word, SVC_TOKEN: token }: Runtime['env'],
): CredentialSource | undefined {
  if (scheme === 'bearer')
    return token ? source(scheme, 'SVC_TOKEN', undefined, undefined, async () => token) : undefined;
  if (!user !== !word) {
    const [set, missing] = user ? ['SVC_USERNAME', 'SVC_PASSWORD'] : ['SVC_PASSWORD', 'SVC_USERNAME'];
    const facts = { hint: 'set both or none', applied: 'no' } as const;
    throw new Failure('credentials', `${set} is set but ${missing} is not`, facts);
  }
  return user && word ? source(scheme, 'SVC_USERNAME and SVC_PASSWORD', user, undefined, async () => word) : undefined;
}

function fromCommand(scheme: Scheme, { name, profile }: Chosen): CredentialSource | undefined {
  const { credential_command: words, username } = profile;
  if (!words || (scheme === 'basic' && username === undefined)) return undefined;
  const origins = profile[`${scheme}_command_origins`] ?? [];
  const secret: Secret = (runtime, signal) => commandSecret(words, scheme, runtime, signal);
  return source(scheme, `the credential_command of profile "${name}"`, username, origins, secret);
}

function fromStore(scheme: Scheme, { name, profile }: Chosen): CredentialSource | undefined {
  const isBasic = scheme === 'basic';
  if (isBasic && profile.username === undefined) return undefined;
  const stored = isBasic ? profile.password : profile.token;
  const account = isBasic ? profile.password_key : profile.token_key;
  const origins = profile[`${scheme}_origins`] ?? [];
  if (stored !== undefined) return source(scheme, `profile "${name}"`, profile.username, origins, async () => stored);
  if (account === undefined) return undefined;
  const secret: Secret = (runtime, signal) => keychainSecret(account, runtime, signal);
  return source(scheme, `profile "${name}" in the keychain`, profile.username, origins, secret);
}

function source(
  scheme: Scheme,
  from: string,
  username: string | undefined,
  origins: readonly string[] | undefined,
  secret: Secret,
): CredentialSource {
  const user = scheme === 'basic' ? username : undefined;
  return {
    scheme,
    from,
    username: user,
    origins,
    read: async (runtime, signal) => {
      const word = await secret(runtime, signal);
      return user === undefined ? bearerCredential(word, from) : basicCredential(user, word);
    },
  };
}
