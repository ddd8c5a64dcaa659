import { Buffer } from 'node:buffer';
import { inspect } from 'node:util';
import { Failure, usageFailure } from '../../errors.ts';
import { isLoopbackUrl } from '../../http/proxy.ts';
import { REDACTED } from '../../output/redaction.ts';
import type { Runtime } from '../../runtime.ts';
import { likelyVariables } from '../environment.ts';
import type { Profile } from '../profile-store.ts';
import { loginCommand, type SelectedProfile } from '../select-profile.ts';
import { readCommandSecret, readKeychainSecret, type SecretContext } from './secret-programs.ts';

/** A value that cannot be printed by accident: as text, as JSON and when inspected it is `[redacted]`. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return REDACTED;
  }

  readonly toJSON = this.toString;
  readonly [inspect.custom] = this.toString;
}

export type AuthScheme = 'basic' | 'bearer';

/** Throws Failure `credentials` for a `:` in the user name, and for control characters, which RFC 7617 forbids. */
export function basicAuthorization(username: string, password: string, source = 'the file or stdin'): string {
  if (username.includes(':'))
    throw new Failure('credentials', 'the user name contains ":", which Basic authentication does not allow', {
      hint: 'check --username, SVC_USERNAME, or the profile',
    });
  for (const [what, text] of Object.entries({ 'user name': username, password })) {
    const found = text.includes('\n') ? 'a line feed' : 'a control character';
    const hint = `one final line break is removed; check ${source} for others`;
    if ([...text].some((character) => character < ' ' || character === '\x7f'))
      throw new Failure('credentials', `the ${what} contains ${found}`, { hint });
  }
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

/** `source` names the token. Throws Failure `credentials` for what is not a token, such as an unset placeholder, or characters that a header cannot carry. */
export function bearerAuthorization(token: string, source: string): string {
  const [, problem, hint] = tokenProblems.find(([pattern]) => pattern.test(token)) ?? [];
  if (problem === undefined) return `Bearer ${token}`;
  throw new Failure('credentials', `the token from ${source} ${problem}`, {
    hint: hint?.replace('<variable>', /^\$\{?([A-Z_]+)\}?$/.exec(token)?.[1] ?? '<variable>'),
  });
}

const ASCII_HINT = 'only printable ASCII characters without spaces are allowed';
const PLACEHOLDER = 'is a placeholder that was not replaced';
const VARIABLE = /^\$\{?[A-Za-z_]\w*\}?$/;
// As env files that are not read by a shell keep them.
const QUOTED = /^(["']).*\1\s*$/s;
const noHeader = (kind: string): string => `contains ${kind}, which an HTTP header cannot contain`;

// RFC 6750 has none of the characters that begin a token here but `/`, which also begins base64.
const tokenProblems: readonly (readonly [pattern: RegExp, problem: string, hint: string])[] = [
  [/^$/, 'is empty', 'a variable, a file or the output of a command before the pipe may be empty'],
  // A line of an env file: `SVC_TOKEN=sk-1`, but not base64 with padding.
  [/^(?:export\s+)?[A-Z]+_[A-Z0-9_]*=[^=]/, 'is a line of an env file', 'keep only what follows the =, without quotes'],
  // Also with the name of the header.
  [
    /^(?:authorization:\s*)?bearer\s/i,
    'starts with Bearer, which svc adds itself',
    'remove what comes before the token',
  ],
  [QUOTED, 'is in quotes', 'remove the quotes'],
  [VARIABLE, 'is the name of a variable, which only a shell replaces', 'write --token-env <variable>'],
  [/^(?:\$\{\{.*\}\}|\{\{.*\}\}|<.*>)$/, PLACEHOLDER, 'put the token itself there'],
  [
    /^file:|^(?:~|\.{1,2})\/|^\/(?:run|etc|home|root|var|tmp|opt|mnt|Users)\//,
    'is the path of a file',
    'run: svc auth login --token-stdin < <file>',
  ],
  [/^\s*[{[]/, 'is JSON', 'keep only the token'],
  [/\n./s, noHeader('a line feed'), 'keep the line with the token only'],
  [/\n$/, 'ends in a line feed', ASCII_HINT],
  [/\s$/, 'ends in a space, a tab or a carriage return', ASCII_HINT],
  [/ /, noHeader('a space'), ASCII_HINT],
  [/\p{Cc}/u, noHeader('a control character'), ASCII_HINT],
  [/[^\x21-\x7e]/, noHeader('a character that is not ASCII'), ASCII_HINT],
];

/** The source of a credential. Nothing is run or opened before `readSecret`. */
export interface CredentialSource {
  readonly description: string;
  /** The next step after a service rejected it; undefined for a stored credential. */
  readonly correction?: string;
  /** With a user name the secret is a password, else a token. */
  readonly username?: string | undefined;
  /** The origins it belongs to; undefined for any. */
  readonly origins?: readonly string[];
  /** Known without running or opening anything. */
  readonly secret?: string;
  readonly readSecret: (context: SecretContext, limitMs?: number) => Promise<string>;
}

/** `secrets` are redacted in all output. Throws Failure `credentials` if it cannot be read within `limitMs` or cannot be sent. */
export async function readCredential(source: CredentialSource, context: SecretContext, limitMs?: number) {
  const secret = await source.readSecret(context, limitMs);
  const authorization = authorizationOf(source, secret);
  const secrets = [secret, authorization.slice(authorization.indexOf(' ') + 1)].filter((text) => text !== '');
  // A password may have any form.
  const quotes = QUOTED.test(secret)
    ? 'the password is in quotes: remove them if they are not part of it; '
    : VARIABLE.test(secret)
      ? 'the password is the name of a variable, which only a shell replaces with its value; '
      : '';
  return { authorization: new Secret(authorization), secrets, quotes };
}

/** The value of the Authorization header. Throws Failure `credentials` for what cannot be sent. */
export function authorizationOf({ username, description }: CredentialSource, secret: string): string {
  return username === undefined
    ? bearerAuthorization(secret, description)
    : basicAuthorization(username, secret, description);
}

/** Undefined if none is configured. Throws Failure `credentials` if the environment has a part of one. */
export function findCredentialSource(scheme: AuthScheme, selected: SelectedProfile, runtime: EnvironmentOf) {
  return environmentSource(scheme, runtime) ?? storedCredential(scheme, selected);
}

/** The source of a credential in a profile, whatever the environment has. */
export function storedCredential(scheme: AuthScheme, { name, profile }: SelectedProfile): CredentialSource | undefined {
  const isBasic = scheme === 'basic';
  const username = isBasic ? profile.username : undefined;
  if (isBasic && username === undefined) return undefined;
  const { credential_command: command } = profile;
  if (command) {
    const description = `the credential_command of profile "${name}"`;
    const origins = profile[`${scheme}_command_origins`] ?? [];
    const readSecret: CredentialSource['readSecret'] = (...limits) => readCommandSecret(command, scheme, ...limits);
    return { description, correction: `correct the output of ${description}`, username, origins, readSecret };
  }
  const origins = profile[`${scheme}_origins`] ?? [];
  const description = `profile "${name}"`;
  const stored = isBasic ? profile.password : profile.token;
  if (stored !== undefined) return { description, username, origins, readSecret: async () => stored };
  const account = isBasic ? profile.password_key : profile.token_key;
  if (account === undefined) return undefined;
  const readSecret: CredentialSource['readSecret'] = (context) => readKeychainSecret(account, context);
  return { description: `${description} in the keychain`, username, origins, readSecret };
}

/** True for an origin to which a request without credentials is sent if none is set: loopback, and those of `--no-token`. */
export function isOpenOrigin({ origin, hostname }: URL, { open_origins: origins = [] }: Profile): boolean {
  return isLoopbackUrl({ hostname }) || origins.includes(origin);
}

/** The source of the credential for a base URL; undefined if it needs none. Throws Failure `credentials` without one for its origin. */
export function requireCredentialSource(
  scheme: AuthScheme,
  baseUrl: string,
  selected: SelectedProfile,
  runtime: EnvironmentOf,
): CredentialSource | undefined {
  const source = findCredentialSource(scheme, selected, runtime);
  const url = new URL(baseUrl);
  const { origin } = url;
  if (source && (source.origins === undefined || source.origins.includes(origin))) return source;
  if (isOpenOrigin(url, selected.profile)) return undefined;
  const { name, profile } = selected;
  const [secrets, secret] = scheme === 'basic' ? ['user name and password', 'password'] : ['token', 'token'];
  const login = loginCommand(selected, baseUrl);
  if (!source) {
    const hint = profile.credential_command
      ? `credential_command needs a user name: svc profile set ${name} --username NAME`
      : loginHint(scheme, runtime, `${login}${scheme === 'bearer' ? ' (--no-token if it needs none)' : ''}`);
    throw new Failure('credentials', `no ${secrets} for ${origin} (profile "${name}")`, { hint });
  }
  const { origins = [], description } = source;
  const owner = origins.join(', ') || 'no base URL';
  const hint = profile.credential_command
    ? `to use the command for this URL, run: svc profile set ${name} --credential-command …`
    : `to store one for this URL, run: ${login}`;
  const message = `the ${secret} of ${description} belongs to ${owner}, not to ${origin}`;
  throw new Failure('credentials', message, { hint });
}

type EnvironmentOf = Pick<Runtime, 'env' | 'credentials'>;

/** The login, or how a shell sets the variables; svc does not guess which of several keys of other tools is meant. */
export function loginHint(
  scheme: AuthScheme,
  { env, credentials = [] }: EnvironmentOf,
  login: string,
  takesTokenFlag = true,
): string {
  const { username, secret = '' } = credentials.find((one) => one.scheme === scheme) ?? {};
  const [own] = likelyVariables('misnamedKey', env);
  const [other, ...more] = own ? [] : likelyVariables('key', env);
  const key = own ?? (more.length === 0 && !username ? other : undefined);
  const user = username ? `${username}=<name> ` : '';
  const flag = other && !username && takesTokenFlag ? `, or add --token-env ${key ?? '<variable>'}` : '';
  return key
    ? `run: export ${user}${secret}="$${key}"${flag}, or run: ${login}`
    : `run: ${login}, or set ${user}${secret}${username ? '=<password>' : ''}${flag}`;
}

function environmentSource(scheme: AuthScheme, { env, credentials = [] }: EnvironmentOf): CredentialSource | undefined {
  for (const { username: userVariable, secret: variable, namedBy } of credentials.filter(
    (one) => one.scheme === scheme,
  )) {
    const variables = userVariable ? [userVariable, variable] : [variable];
    const set = variables.filter((one) => env[one]);
    const missing = variables.find((one) => !env[one]);
    if (missing === undefined) {
      const description = variables.join(' and ');
      const [secret = '', username] = [env[variable], userVariable && env[userVariable]];
      const correction = `correct or unset ${description}`;
      return { description, correction, username, secret, readSecret: async () => secret };
    }
    const facts = { hint: namedBy ? `set ${missing}` : 'set both or none', applied: 'no' } as const;
    // Another text may be the secret, which a shell put in place of $NAME.
    if (namedBy && !/^[A-Z_][A-Z\d_]*$/.test(variable)) {
      const [, name = 'API_TOKEN'] = /^[$%]\{?(?:env:)?([a-z_]\w*)[}%]?$/i.exec(variable) ?? [];
      throw usageFailure(`${namedBy} is not the name of a set variable`, `write a name without $: ${namedBy} ${name}`);
    }
    if (set.length > 0) throw new Failure('credentials', `${set[0]} is set but ${missing} is not`, facts);
    if (namedBy) throw new Failure('credentials', `${namedBy} names ${missing}, which is not set`, facts);
  }
  return undefined;
}
