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
  const [left, right] = [authorization ?? '', expected].map((text) =>
    Buffer.from(text.replace(/^\S+/, (word) => word.toLowerCase())),
  );
  if (left && left.length === right?.length && timingSafeEqual(left, right)) return accepted.username;
  const challenge = scheme === 'basic' ? 'Basic realm="svc", charset="UTF-8"' : 'Bearer realm="svc"';
  throw new HttpError(401, 'Unauthorized', [['WWW-Authenticate', challenge]]);
}
