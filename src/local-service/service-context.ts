import type { Finding } from '../fields/finding.ts';
import type { ExchangeSignal, Middleware, Request, Response } from '../http/message.ts';
import type { JsonNode } from '../json/json-node.ts';
import type { Operation } from '../operations/operation.ts';
import type { PageLogin } from './page-login.ts';
import type { RequestSummary } from './request-summary.ts';
import type { ServiceStore } from './store/service-store.ts';
import type { Upstream } from './upstream.ts';

/** The context of the local service. */
export interface ServiceContext {
  readonly store: ServiceStore;
  /** The directory for staging bodies that are too large for memory. */
  readonly directory: string;
  /** The largest body it accepts, in bytes, below the limits of the operations. */
  readonly maxBodyBytes: number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly randomBytes: (count: number) => Uint8Array;
  /** Milliseconds on a monotonic clock. */
  readonly elapsed: () => number;
  /** Is called with every request that has ended. */
  readonly onRequestEnd?: ((summary: RequestSummary) => void) | undefined;
  readonly faults?: Middleware | undefined;
  /** Gives browsers credentials for the page. */
  readonly login?: PageLogin | undefined;
  /** Responds to chats instead of the built-in model. */
  readonly upstream?: Upstream | undefined;
}

/** Who sent a request. */
export interface Caller {
  readonly user: string;
  /** Aborted when the caller has disconnected. */
  readonly signal: ExchangeSignal | undefined;
}

/** Applies an operation to a valid body. May throw HttpError. */
export type OperationHandler = (
  body: JsonNode,
  caller: Caller,
  context: ServiceContext,
) => Response | Promise<Response>;

/** A body that was received completely. */
export interface ReceivedBody {
  readonly findings: readonly Finding[];
  /** Applies the operation; called only if no finding rejects the body. May throw HttpError. */
  readonly apply: () => Response | Promise<Response>;
  /** Frees what was kept of the body; called in every case. */
  readonly discard: () => Promise<void>;
}

/**
 * Receives a body; `length` is the length that its request declares, or 0. Throws what its chunks throw, and keeps
 * nothing of the body then.
 */
export type BodyReceiver = (
  chunks: AsyncIterable<Uint8Array>,
  length: number,
  caller: Caller,
  context: ServiceContext,
) => Promise<ReceivedBody>;

/** One path of the local service: the method and credentials it takes, the shape of its errors, and how it responds. */
export interface ServiceRoute {
  readonly method: 'GET' | 'POST';
  /** `none`: open to everybody who can connect; `page`: Basic credentials, or a token of the page. */
  readonly auth: Operation['auth'] | 'none' | 'page';
  readonly errors: Operation['errors'];
  /** May throw HttpError. */
  readonly respond: (request: Request, caller: Caller) => Promise<Response>;
}

/** A path that is read with GET. */
export function readRoute(
  auth: ServiceRoute['auth'],
  respond: ServiceRoute['respond'],
  errors: ServiceRoute['errors'] = 'detail',
): ServiceRoute {
  return { method: 'GET', auth, errors, respond };
}
