import type { Buffer } from 'node:buffer';
import type { Draft } from '../body/draft.ts';
import type { Fields } from '../fields/field.ts';
import type { Headers, RequestBody } from '../http/message.ts';
import { isSecretHeader } from '../http/verbose-log.ts';
import { applySplices, splicesToSetMembers } from '../json/edit.ts';
import { getMember, isTrue, type JsonNode, kindOf, membersOf, rawText, rootOf, stringOf } from '../json/json-node.ts';
import type { Operation } from '../operations/operation.ts';
import type { Destination } from './destination.ts';
import { requestHeaders } from './request-headers.ts';

/** A request without its credential, as it is sent or shown. */
export interface PreparedRequest {
  readonly operation: Operation;
  /** Undefined if no base URL is set. */
  readonly url: URL | undefined;
  readonly headers: Headers;
  readonly draft: Draft;
  /** The bytes of the draft, or a larger body of which the draft is a part. */
  readonly body: RequestBody;
  /** The embedded service responds, without a credential. */
  readonly isLocal: boolean;
}

/** The only place that assembles a request: everything but the credential. `body` defaults to the bytes of the draft. */
export function prepareRequest(
  operation: Operation,
  draft: Draft,
  { url, profileHeaders, isLocal }: Destination,
  flagHeaders: Headers = [],
  body: RequestBody = draft.doc.bytes,
): PreparedRequest {
  const headers = requestHeaders(profileHeaders, flagHeaders, isStreamRequested(draft));
  return { operation, url, headers, draft, body, isLocal };
}

/** True when the body asks for a streamed response. */
export function isStreamRequested({ doc }: Draft): boolean {
  return isTrue(getMember(rootOf(doc), 'stream'));
}

/** A body with `placeholder(name)` in place of every secret field; the same bytes if it has none. */
export function redactSecretFields(root: JsonNode, { body }: Operation, placeholder: (name: string) => string): Buffer {
  const { bytes } = root.doc;
  const names = new Set(secretFields(root, body).map(([name]) => name));
  if (names.size === 0) return bytes;
  const members = Array.from(names, (key) => ({ key, text: JSON.stringify(placeholder(key)) }));
  return applySplices(bytes, splicesToSetMembers(root, members));
}

/** The secrets in a request besides its credential: secret fields of the body, and headers that carry one. */
export function requestSecrets({ draft, operation, headers }: PreparedRequest): string[] {
  const fieldValues = secretFields(rootOf(draft.doc), operation.body).map(([, value]) =>
    kindOf(value) === 'string' ? stringOf(value) : rawText(value),
  );
  return [...fieldValues, ...headers.flatMap(([name, value]) => (isSecretHeader(name) ? [value] : []))];
}

// A name that is given twice has two values.
function secretFields(root: JsonNode, fields: Fields): (readonly [name: string, value: JsonNode])[] {
  return Array.from(membersOf(root)).flatMap(({ key, value }) =>
    Object.hasOwn(fields, key) && fields[key]?.secret && kindOf(value) !== 'null' ? [[key, value] as const] : [],
  );
}
