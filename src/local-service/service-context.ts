import type { Finding } from '../fields/finding.ts';
import type { Response } from '../http/message.ts';
import type { JsonNode } from '../json/json-node.ts';
import type { GroupCommit } from './store/group-commit.ts';
import type { Store } from './store/open-store.ts';
import type { Upstream } from './upstream.ts';

/** What the local service does its work with. */
export interface ServiceContext {
  readonly store: Store;
  readonly commit: GroupCommit;
  /** Where the database is, and what is too large for memory waits. */
  readonly directory: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly randomBytes: (count: number) => Uint8Array;
  /** Answers chats instead of the built-in model. */
  readonly upstream: Upstream | undefined;
}

/** Who asks. */
export interface Caller {
  readonly user: string;
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal | undefined;
}

/** What an operation does with a body that has been judged. May throw Refusal. */
export type OperationHandler = (
  body: JsonNode,
  caller: Caller,
  context: ServiceContext,
) => Response | Promise<Response>;

/** A body that has come completely. */
export interface ReceivedBody {
  /** What there is to say about it. */
  readonly findings: readonly Finding[];
  /** Does what the operation does; asked only where nothing of it is refused. May throw Refusal. */
  readonly apply: () => Response | Promise<Response>;
  /** Lets go of what was kept of it, whatever has become of it. */
  readonly discard: () => Promise<void>;
}

/** Takes a body as it comes; `length` is what its request says it has, or 0. Throws what its pieces throw, and has kept nothing then. */
export type BodyReceiver = (
  chunks: AsyncIterable<Uint8Array>,
  length: number,
  caller: Caller,
  context: ServiceContext,
) => Promise<ReceivedBody>;
