import type { Request, Response } from '../http/message.ts';
import type { Operation } from '../operations/operation.ts';
import type { Caller } from './service-context.ts';

/** One path of the local service: the method and credentials it takes, the shape of its errors, and how it responds. */
export interface ServiceRoute {
  readonly method: 'GET' | 'POST';
  /** `none`: open to everybody who can connect. */
  readonly auth: Operation['auth'] | 'none';
  readonly errors: Operation['errors'];
  /** May throw HttpError. */
  readonly respond: (request: Request, caller: Caller) => Promise<Response>;
}
