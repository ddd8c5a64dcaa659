import type { ExchangeSignal, HttpRequest, HttpResponse } from '../http/message.ts';
import type { PageLogin } from './service-credentials.ts';
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

/** The limits of the local service beyond those of the operations; the reference lists them. */
export const serviceLimits = {
  /** For all headers of a request. */
  headMs: 10_000,
  /** For the next bytes of a body; responses may take any time. */
  bodyMs: 60_000,
  /** For requests in flight after SIGTERM, unless `--drain` is given. */
  drainMs: 5000,
  /** On average over each `bodyMs`. */
  minBodyBytesPerSecond: 1024,
  connections: 1024,
  choices: 128,
  minTokens: 32_768,
  topLogprobs: 100,
  /** Tokens times choices, stops and alternatives. */
  tokenVisits: 2_000_000,
  /** A larger database is opened without a check of its integrity. */
  checkedDatabaseBytes: 32 * 1024 * 1024,
} as const;
