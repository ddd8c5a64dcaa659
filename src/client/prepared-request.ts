import type { Buffer } from 'node:buffer';
import type { Draft } from '../body/draft.ts';
import type { Fields } from '../fields/field.ts';
import type { Headers, RequestBody } from '../http/message.ts';
import { isSecretHeader } from '../http/verbose-log.ts';
import { applySplices } from '../json/apply-splices.ts';
import { splicesToSetMembers } from '../json/edit.ts';
import { getMember, isTrue, type JsonNode, kindOf, rawText, rootOf, stringOf } from '../json/json-node.ts';
import type { Operation } from '../operations/operation.ts';

/** A request that is complete but for its credential. */
export interface PreparedRequest {
  readonly operation: Operation;
  /** Undefined where no base address is known. */
  readonly url: URL | undefined;
  readonly headers: Headers;
  readonly draft: Draft;
  /** What is sent: the bytes of the draft, or those of a body of which the draft is only a part. */
  readonly body: RequestBody;
  /** The embedded service answers, and asks for no credential. */
  readonly isLocal: boolean;
}

/** True when the body asks for the reply in pieces. */
export function isStreamRequested({ doc }: Draft): boolean {
  return isTrue(getMember(rootOf(doc), 'stream'));
}

/** The body with `shown(name)` in the place of every secret; the very same bytes where there is none. */
export function redactSecretFields({ doc }: Draft, { body }: Operation, placeholder: (name: string) => string): Buffer {
  const root = rootOf(doc);
  const secrets = secretFields(root, body).map(([name]) => name);
  if (secrets.length === 0) return doc.bytes;
  return applySplices(
    doc.bytes,
    splicesToSetMembers(
      root,
      secrets.map((key) => ({ key, text: JSON.stringify(placeholder(key)) })),
    ),
  );
}

/** The secrets in a request besides its credential: secret members of the body, and headers that carry one. */
export function requestSecrets({
  draft,
  operation,
  headers,
}: Pick<PreparedRequest, 'draft' | 'operation' | 'headers'>): string[] {
  const fieldValues = secretFields(rootOf(draft.doc), operation.body).map(([, value]) =>
    kindOf(value) === 'string' ? stringOf(value) : rawText(value),
  );
  return [...fieldValues, ...headers.flatMap(([name, value]) => (isSecretHeader(name) ? [value] : []))];
}

function secretFields(root: JsonNode, fields: Fields): [name: string, value: JsonNode][] {
  return Object.keys(fields).flatMap((name) => {
    const value = fields[name]?.secret ? getMember(root, name) : undefined;
    return value !== undefined && kindOf(value) !== 'null' ? [[name, value] as [string, JsonNode]] : [];
  });
}
