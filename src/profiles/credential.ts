import { Buffer } from 'node:buffer';
import { Failure } from '../errors.ts';
import type { Runtime } from '../runtime.ts';
import type { Profile } from './profile.ts';
import { Secret } from './secret.ts';

export type Scheme = 'basic' | 'bearer';

/** What goes into the Authorization header, and the secrets in it, which no output may show. */
export interface Credential {
  readonly authorization: Secret;
  readonly secrets: readonly string[];
}

/**
 * The credential for a scheme: from the environment, which is bound to nothing, else from the profile, which is bound
 * to the origins it was given for. Throws Failure `credentials` where there is none for this origin.
 */
export function credentialFor(
  scheme: Scheme,
  origin: string,
  profileName: string,
  profile: Profile,
  env: Runtime['env'],
): Credential {
  const found =
    scheme === 'basic' ? basic(origin, profileName, profile, env) : bearer(origin, profileName, profile, env);
  if (found) return found;
  const [names, what] =
    scheme === 'basic' ? ['SVC_USERNAME and SVC_PASSWORD', 'user and password'] : ['SVC_TOKEN', 'token'];
  throw new Failure('credentials', `there is no ${what} for ${origin}`, {
    hint: `svc auth login, or set ${names}`,
    applied: 'no',
  });
}

/** The value of an Authorization header for Basic: base64 of UTF-8 `user:password`. Throws Failure for a `:` in the user. */
export function basicAuthorization(username: string, password: string): string {
  if (username.includes(':')) {
    throw new Failure('credentials', 'the user has a ":", which Basic authentication cannot carry', { applied: 'no' });
  }
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

/** The value of an Authorization header for Bearer. Throws Failure for a token that could end the header; `source` names it. */
export function bearerAuthorization(token: string, source: string): string {
  if (/^[\x21-\x7e]+$/.test(token)) return `Bearer ${token}`;
  throw new Failure('credentials', `the token in ${source} is empty or has characters that a header cannot carry`, {
    applied: 'no',
  });
}

function basic(origin: string, name: string, profile: Profile, env: Runtime['env']): Credential | undefined {
  const { SVC_USERNAME: user, SVC_PASSWORD: word } = env;
  if (!user !== !word) {
    const [set, missing] = user ? ['SVC_USERNAME', 'SVC_PASSWORD'] : ['SVC_PASSWORD', 'SVC_USERNAME'];
    throw new Failure('credentials', `${set} is set but ${missing} is not`, {
      hint: 'set both or none',
      applied: 'no',
    });
  }
  if (user && word) return basicCredential(user, word);
  const { username, password, basic_origins: origins = [] } = profile;
  if (username === undefined || password === undefined) return undefined;
  requireOrigin('password', origin, origins, name);
  return basicCredential(username, password);
}

function basicCredential(username: string, password: string): Credential {
  const authorization = basicAuthorization(username, password);
  return { authorization: new Secret(authorization), secrets: [password, authorization.slice('Basic '.length)] };
}

function bearer(origin: string, name: string, profile: Profile, env: Runtime['env']): Credential | undefined {
  if (env.SVC_TOKEN) return bearerCredential(env.SVC_TOKEN, 'SVC_TOKEN');
  if (profile.token === undefined) return undefined;
  requireOrigin('token', origin, profile.bearer_origins ?? [], name);
  return bearerCredential(profile.token, `profile "${name}"`);
}

function bearerCredential(token: string, source: string): Credential {
  return { authorization: new Secret(bearerAuthorization(token, source)), secrets: [token] };
}

function requireOrigin(what: string, origin: string, bound: readonly string[], name: string): void {
  if (bound.includes(origin)) return;
  throw new Failure(
    'credentials',
    `the ${what} of profile "${name}" belongs to ${bound.join(', ') || 'no address'}, not to ${origin}`,
    {
      hint: 'log in for this address with svc auth login',
      applied: 'no',
    },
  );
}
