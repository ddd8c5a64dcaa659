import type { Draft } from '../body/draft.ts';
import type { Headers, RequestBody } from '../http/message.ts';
import { isSecretHeader } from '../http/verbose-log.ts';
import { getMember, isTrue, rootOf } from '../json/json-node.ts';
import type { Operation } from '../operations/operation.ts';
import { secretValues } from '../operations/secret-fields.ts';
import type { Destination } from './destination.ts';
import { requestHeaders } from './request-headers.ts';

/** A request without its credential, to be sent or printed. */
export interface PreparedRequest {
  readonly operation: Operation;
  /** Undefined if no base URL is set. */
  readonly url: URL | undefined;
  readonly headers: Headers;
  readonly draft: Draft;
  /** The bytes of the draft, or a larger body of which the draft is a part. */
  readonly body: RequestBody;
  /** The local service responds, without a credential. */
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

/** True when the body requests a streamed response. */
export function isStreamRequested({ doc }: Draft): boolean {
  return isTrue(getMember(rootOf(doc), 'stream'));
}

/** The secrets in a request besides its credential: secret fields of the body, and headers that carry one. */
export function requestSecrets({ draft, operation, headers }: PreparedRequest): string[] {
  const headerValues = headers.flatMap(([name, value]) => (isSecretHeader(name) ? [value] : []));
  return [...secretValues(rootOf(draft.doc), operation), ...headerValues];
}
