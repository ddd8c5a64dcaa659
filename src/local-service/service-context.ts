import type { ExchangeSignal, HttpRequest, HttpResponse } from '../http/message.ts';
import type { PageLogin } from './page-login.ts';
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
  /** Rejects bodies that break a rule of one existing server, too (docs/internals/servers.md). */
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

/** Responds to a path of the local service. May throw HttpError. */
export type Respond = (request: HttpRequest, caller: Caller) => Promise<HttpResponse>;
