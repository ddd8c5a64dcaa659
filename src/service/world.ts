import type { Finding } from '../fields/finding.ts';
import type { Reply } from '../http/message.ts';
import type { JsonNode } from '../json/node.ts';
import type { Commit } from './commits.ts';
import type { Store } from './store.ts';
import type { Upstream } from './upstream.ts';

/** What the local service does its work with. */
export interface World {
  readonly store: Store;
  readonly commit: Commit;
  /** Where the database is, and what is too large for memory waits. */
  readonly folder: string;
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
export type Behaviour = (body: JsonNode, caller: Caller, world: World) => Reply | Promise<Reply>;

/** A body that has come completely. */
export interface Taken {
  /** What there is to say about it. */
  readonly findings: readonly Finding[];
  /** Does what the operation does; asked only where nothing of it is refused. May throw Refusal. */
  readonly apply: () => Reply | Promise<Reply>;
  /** Lets go of what was kept of it, whatever has become of it. */
  readonly drop: () => Promise<void>;
}

/** Takes a body as it comes; `length` is what its request says it has, or 0. Throws what its pieces throw, and has kept nothing then. */
export type Intake = (
  pieces: AsyncIterable<Uint8Array>,
  length: number,
  caller: Caller,
  world: World,
) => Promise<Taken>;
