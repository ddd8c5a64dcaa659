import type { Buffer } from 'node:buffer';
import type { Draft } from '../body/draft.ts';
import type { Headers } from '../http/message.ts';
import { setMembers } from '../json/edit.ts';
import { isTrue, kindOf, member, rootOf } from '../json/node.ts';
import { splice } from '../json/splice.ts';
import type { Operation } from '../operations/operation.ts';

/** A request that is complete but for its credential. */
export interface Prepared {
  readonly operation: Operation;
  /** Undefined where no base address is known. */
  readonly url: URL | undefined;
  readonly headers: Headers;
  readonly draft: Draft;
  /** The embedded service answers, and asks for no credential. */
  readonly isLocal: boolean;
}

/** True when the body asks for the reply in pieces. */
export function asksForStream({ doc }: Draft): boolean {
  return isTrue(member(rootOf(doc), 'stream'));
}

/** The body with `shown(name)` in the place of every secret; the very same bytes where there is none. */
export function withoutSecrets({ doc }: Draft, { body }: Operation, shown: (name: string) => string): Buffer {
  const root = rootOf(doc);
  const secrets = Object.keys(body).filter((name) => {
    const value = member(root, name);
    return body[name]?.secret && value !== undefined && kindOf(value) !== 'null';
  });
  if (secrets.length === 0) return doc.bytes;
  return splice(
    doc.bytes,
    setMembers(
      root,
      secrets.map((key) => ({ key, text: JSON.stringify(shown(key)) })),
    ),
  );
}
