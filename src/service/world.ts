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

/** What an operation does with a body that has been judged, for a user. May throw Refusal. */
export type Behaviour = (body: JsonNode, user: string, world: World) => Reply | Promise<Reply>;
