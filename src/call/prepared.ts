import type { Buffer } from 'node:buffer';
import type { Draft } from '../body/draft.ts';
import type { Fields } from '../fields/field.ts';
import type { Body, Headers } from '../http/message.ts';
import { isSecretHeader } from '../http/trace.ts';
import { setMembers } from '../json/edit.ts';
import { isTrue, type JsonNode, kindOf, member, rootOf, stringOf, textOf } from '../json/node.ts';
import { splice } from '../json/splice.ts';
import type { Operation } from '../operations/operation.ts';

/** A request that is complete but for its credential. */
export interface Prepared {
  readonly operation: Operation;
  /** Undefined where no base address is known. */
  readonly url: URL | undefined;
  readonly headers: Headers;
  readonly draft: Draft;
  /** What is sent: the bytes of the draft, or those of a body of which the draft is only a part. */
  readonly body: Body;
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
  const secrets = secretMembers(root, body).map(([name]) => name);
  if (secrets.length === 0) return doc.bytes;
  return splice(
    doc.bytes,
    setMembers(
      root,
      secrets.map((key) => ({ key, text: JSON.stringify(shown(key)) })),
    ),
  );
}

/** The secrets in a request besides its credential: secret members of the body, and headers that carry one. */
export function secretsIn({ draft, operation, headers }: Pick<Prepared, 'draft' | 'operation' | 'headers'>): string[] {
  const members = secretMembers(rootOf(draft.doc), operation.body).map(([, value]) =>
    kindOf(value) === 'string' ? stringOf(value) : textOf(value),
  );
  return [...members, ...headers.flatMap(([name, value]) => (isSecretHeader(name) ? [value] : []))];
}

function secretMembers(root: JsonNode, fields: Fields): [name: string, value: JsonNode][] {
  return Object.keys(fields).flatMap((name) => {
    const value = fields[name]?.secret ? member(root, name) : undefined;
    return value !== undefined && kindOf(value) !== 'null' ? [[name, value] as [string, JsonNode]] : [];
  });
}
