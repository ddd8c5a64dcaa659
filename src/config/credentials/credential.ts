import { Buffer } from 'node:buffer';
import { Failure } from '../../errors.ts';
import { Secret } from './secret.ts';

export type AuthScheme = 'basic' | 'bearer';

/** What goes into the Authorization header, and the secrets in it, which no output may show. */
export interface Credential {
  readonly authorization: Secret;
  readonly secrets: readonly string[];
}

/** The credential of a user and password. Throws Failure `credentials` for a `:` in the user. */
export function basicCredential(username: string, password: string): Credential {
  const authorization = basicAuthorization(username, password);
  return { authorization: new Secret(authorization), secrets: [password, authorization.slice('Basic '.length)] };
}

/** The credential of a token. Throws Failure `credentials` for one no header can carry; `source` names it. */
export function bearerCredential(token: string, source: string): Credential {
  return { authorization: new Secret(bearerAuthorization(token, source)), secrets: [token] };
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
