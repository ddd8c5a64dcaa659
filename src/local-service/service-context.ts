import { Buffer } from 'node:buffer';
import { timingSafeEqual } from 'node:crypto';
import { basicAuthorization } from '../config/credentials/credential.ts';
import type { ExchangeSignal, HttpRequest, HttpResponse } from '../http/message.ts';
import type { Operation } from '../operations/operation.ts';
import type { PageLogin } from './page-login.ts';
import { HttpError } from './responses.ts';
import type { ServiceStore } from './store/service-store.ts';
import type { Upstream } from './upstream.ts';

export interface ServiceContext {
  readonly store: ServiceStore;
  /** The directory for staging bodies that are too large for memory. */
  readonly directory: string;
  /** The largest body it accepts, in bytes, below the limits of the operations. */
  readonly maxBodyBytes: number;
  readonly now: () => number;
  readonly randomBytes: (count: number) => Uint8Array;
  readonly elapsed: () => number;
  /** Rejects bodies that break a rule of one existing server, too (docs/servers.md). */
  readonly checksRules?: boolean | undefined;
  readonly login?: PageLogin | undefined;
  /** Responds to chats instead of the built-in model. */
  readonly upstream?: Upstream | undefined;
  /** The names of the built-in model; without them it serves every name. */
  readonly models?: readonly string[] | undefined;
}

export interface Caller {
  readonly user: string;
  readonly signal: ExchangeSignal | undefined;
}

/** One path of the local service. */
export interface ServiceRoute {
  readonly method: 'GET' | 'POST';
  /** `none`: open to everybody who can connect; `page`: Basic credentials, or a token of the page. */
  readonly auth: Operation['auth'] | 'none' | 'page';
  readonly errors: Operation['errors'];
  /** May throw HttpError. */
  readonly respond: (request: HttpRequest, caller: Caller) => Promise<HttpResponse>;
}

export function readRoute(
  auth: ServiceRoute['auth'],
  respond: ServiceRoute['respond'],
  errors: ServiceRoute['errors'] = 'detail',
): ServiceRoute {
  return { method: 'GET', auth, errors, respond };
}

export type AcceptedCredentials = { readonly [name in 'username' | 'password' | 'token']: string };

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
