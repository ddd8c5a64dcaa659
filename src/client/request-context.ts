import type { Draft } from '../body/draft.ts';
import { createRequestProgress, type RequestProgress } from '../http/request-progress.ts';
import { rootOf } from '../json/json-node.ts';
import type { Operation } from '../operations/operation.ts';
import { recordIds, requestEffect } from './idempotency.ts';

/** A request that was made, for telling what became of it. */
export interface RequestContext {
  readonly operation: Operation;
  readonly draft: Draft;
  readonly effect: Operation['effect'];
  readonly ids: { readonly [what: string]: string };
  readonly progress: RequestProgress;
}

/** What is known of a request before it leaves. */
export function createRequestContext(operation: Operation, draft: Draft): RequestContext {
  const body = rootOf(draft.doc);
  return {
    operation,
    draft,
    effect: requestEffect(operation, body),
    ids: recordIds(operation, body),
    progress: createRequestProgress(),
  };
}
