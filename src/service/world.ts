import type { Reply } from '../http/message.ts';
import type { JsonNode } from '../json/node.ts';
import type { Store } from './store.ts';
import type { Upstream } from './upstream.ts';

/** What the local service does its work with. */
export interface World {
  readonly store: Store;
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
