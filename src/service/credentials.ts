import { Buffer } from 'node:buffer';
import { timingSafeEqual } from 'node:crypto';
import { basicAuthorization } from '../profiles/credential.ts';
import { Refusal } from './refusal.ts';

/** Whom the local service lets in. */
export interface Credentials {
  readonly username: string;
  readonly password: string;
  readonly token: string;
}

/** The user of a request; throws Refusal 401 unless its Authorization header is the one of the scheme. */
export function authenticate(
  scheme: 'basic' | 'bearer',
  authorization: string | undefined,
  wanted: Credentials,
): string {
  const expected = scheme === 'basic' ? basicAuthorization(wanted.username, wanted.password) : `Bearer ${wanted.token}`;
  // The name of a scheme may be written in any case (RFC 9110).
  const given = (authorization ?? '').replace(
    /^\S+/,
    (word) => word.slice(0, 1).toUpperCase() + word.slice(1).toLowerCase(),
  );
  if (isSame(given, expected)) return wanted.username;
  const challenge = scheme === 'basic' ? 'Basic realm="svc", charset="UTF-8"' : 'Bearer realm="svc"';
  throw new Refusal(401, 'Unauthorized', [['WWW-Authenticate', challenge]]);
}

// In a time that does not tell how much of it was right.
function isSame(given: string, expected: string): boolean {
  const [left, right] = [Buffer.from(given), Buffer.from(expected)];
  return left.length === right.length && timingSafeEqual(left, right);
}
