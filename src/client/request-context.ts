import type { Draft } from '../body/draft.ts';
import { createRequestProgress, type RequestProgress } from '../http/request-progress.ts';
import { rootOf } from '../json/json-node.ts';
import type { Operation } from '../operations/operation.ts';
import { recordIds, requestEffect } from './idempotency.ts';

/** Where a request goes and as whom, for messages. */
export interface RequestTarget {
  readonly url: URL;
  readonly isLocal: boolean;
  /** The name of the profile. */
  readonly profile: string;
  /** The source of the credential: `user "api" from profile "work"`; undefined without a credential. */
  readonly credential: string | undefined;
}

/** What messages and retries need to know about a request. */
export interface RequestContext {
  readonly operation: Operation;
  readonly draft: Draft;
  readonly target: RequestTarget;
  readonly effect: Operation['effect'];
  /** Ids in the body, by what they identify. */
  readonly ids: { readonly [what: string]: string };
  readonly progress: RequestProgress;
}

/** The context of a request that is not sent yet. */
export function createRequestContext(operation: Operation, draft: Draft, target: RequestTarget): RequestContext {
  const body = rootOf(draft.doc);
  return {
    operation,
    draft,
    target,
    effect: requestEffect(operation, body),
    ids: recordIds(operation, body),
    progress: createRequestProgress(),
  };
}

/** The target of a request that was authorized. */
export function createRequestTarget(
  url: URL,
  { isLocal, name }: { readonly isLocal: boolean; readonly name: string },
  authorization: { readonly description: string } | undefined,
): RequestTarget {
  return { url, isLocal, profile: name, credential: authorization?.description };
}

/** The service as messages name it: by its origin. */
export function serviceName({ url, isLocal }: RequestTarget): string {
  return isLocal ? 'the local service' : url.origin;
}
