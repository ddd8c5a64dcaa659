import { Buffer } from 'node:buffer';
import { timingSafeEqual } from 'node:crypto';
import { basicAuthorization } from '../config/credentials/credential.ts';
import { HttpError } from './responses.ts';

export interface AcceptedCredentials {
  readonly username: string;
  readonly password: string;
  readonly token: string;
}

/** The user of a request; throws HttpError 401 unless its Authorization header is the one of the scheme. */
export function authenticateRequest(
  scheme: 'basic' | 'bearer',
  authorization: string | undefined,
  accepted: AcceptedCredentials,
): string {
  const expected =
    scheme === 'basic' ? basicAuthorization(accepted.username, accepted.password) : `Bearer ${accepted.token}`;
  // The name of a scheme may be written in any case (RFC 9110).
  const received = (authorization ?? '').replace(
    /^\S+/,
    (word) => word.slice(0, 1).toUpperCase() + word.slice(1).toLowerCase(),
  );
  if (equalsInConstantTime(received, expected)) return accepted.username;
  const challenge = scheme === 'basic' ? 'Basic realm="svc", charset="UTF-8"' : 'Bearer realm="svc"';
  throw new HttpError(401, 'Unauthorized', [['WWW-Authenticate', challenge]]);
}

// Constant time: the duration does not depend on how many characters match.
function equalsInConstantTime(received: string, expected: string): boolean {
  const [left, right] = [Buffer.from(received), Buffer.from(expected)];
  return left.length === right.length && timingSafeEqual(left, right);
}
