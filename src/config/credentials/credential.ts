import { Buffer } from 'node:buffer';
import { inspect } from 'node:util';
import { Failure } from '../../errors.ts';
import { REDACTED } from '../../output/reporter.ts';
import { shellWord } from '../../output/shell-quote.ts';
import type { Runtime } from '../../runtime.ts';
import { profileOrigins, type SelectedProfile } from '../select-profile.ts';
import { readCommandSecret, readKeychainSecret } from './secret-programs.ts';

/** A value that cannot be printed by accident: as text, as JSON and when inspected it is `[redacted]`. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The value itself, for the one place that sends or stores it. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return REDACTED;
  }

  toJSON(): string {
    return REDACTED;
  }

  [inspect.custom](): string {
    return REDACTED;
  }
}

export type AuthScheme = 'basic' | 'bearer';

/** The value of the Authorization header, and the secrets in it, which all output redacts. */
export interface Credential {
  readonly authorization: Secret;
  readonly secrets: readonly string[];
}

/**
 * The value of an Authorization header for Basic: base64 of UTF-8 `user:password`; the password may be empty. Throws Failure
 * `credentials` for a `:` in the user name, and for control characters, which RFC 7617 forbids.
 */
export function basicAuthorization(username: string, password: string): string {
  if (username.includes(':'))
    throw new Failure('credentials', 'the user name contains ":", which Basic authentication does not allow', {
      hint: 'check --username, SVC_USERNAME, or the profile',
      applied: 'no',
    });
  for (const [what, text] of Object.entries({ 'user name': username, password }))
    if ([...text].some((character) => character < ' ' || character === '\x7f'))
      throw new Failure('credentials', `the ${what} contains a control character, such as a line break`, {
        hint: 'one final line break is removed; check the file or stdin for others',
        applied: 'no',
      });
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

/** The value of an Authorization header for Bearer; `source` names the token. Throws Failure `credentials` for characters that a header cannot carry. */
export function bearerAuthorization(token: string, source: string): string {
  if (/^[\x21-\x7e]+$/.test(token)) return `Bearer ${token}`;
  const message = `the token from ${source} is empty or contains characters that an HTTP header cannot contain`;
  const hint = 'only printable ASCII characters without spaces are allowed';
  throw new Failure('credentials', message, { hint, applied: 'no' });
}

/** The source of a credential. Nothing is run or opened before `read`. */
export interface CredentialSource {
  /** For messages, such as `profile "work"`. */
  readonly description: string;
  /** The next step after a service rejected it; undefined for a stored credential. */
  readonly correction: string | undefined;
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
  if (scheme === 'bearer')
    return token
      ? createSource('SVC_TOKEN', undefined, undefined, async () => token, 'correct or unset SVC_TOKEN')
      : undefined;
  const variables = 'SVC_USERNAME and SVC_PASSWORD';
  if (user && password)
    return createSource(variables, user, undefined, async () => password, `correct or unset ${variables}`);
  if (!user && !password) return undefined;
  const [set, missing] = user ? ['SVC_USERNAME', 'SVC_PASSWORD'] : ['SVC_PASSWORD', 'SVC_USERNAME'];
  const facts = { hint: 'set both or none', applied: 'no' } as const;
  throw new Failure('credentials', `${set} is set but ${missing} is not`, facts);
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
      const authorization =
        username === undefined ? bearerAuthorization(secret, description) : basicAuthorization(username, secret);
      const secrets = new Set([secret, authorization.slice(authorization.indexOf(' ') + 1)]);
      secrets.delete('');
      return { authorization: new Secret(authorization), secrets: [...secrets] };
    },
  };
}
