import { isGeneratedValue } from '../body/autofill.ts';
import type { Draft } from '../body/draft.ts';
import type { SelectedProfile } from '../config/select-profile.ts';
import type { FailureFacts } from '../errors.ts';
import { createRequestProgress, type RequestProgress } from '../http/request-progress.ts';
import { rootOf } from '../json/json-node.ts';
import type { Operation } from '../operations/operation.ts';
import type { Authorization } from './destination.ts';
import { isIdempotent, type RecordIds, recordIds, requestEffect } from './idempotency.ts';

/** The destination and the credentials of a request. */
export interface RequestTarget {
  readonly url: URL;
  readonly isLocal: boolean;
  /** The name of the profile. */
  readonly profile: string;
  /** The profile has a base URL of this origin. */
  readonly isInProfile: boolean;
  readonly authorization: Authorization | undefined;
}

/** The facts about a request that messages and retries need. */
export interface RequestContext {
  readonly operation: Operation;
  readonly draft: Draft;
  readonly target: RequestTarget;
  readonly effect: Operation['effect'];
  readonly ids: RecordIds;
  readonly progress: RequestProgress;
}

/** The context of a request that is not sent yet. */
export function createRequestContext(operation: Operation, draft: Draft, target: RequestTarget): RequestContext {
  const ids = recordIds(operation, rootOf(draft.doc));
  return { operation, draft, target, effect: requestEffect(operation, ids), ids, progress: createRequestProgress() };
}

/** The target of a request that was authorized. */
export function createRequestTarget(
  url: URL,
  { isLocal, name, profile }: Pick<SelectedProfile, 'isLocal' | 'name' | 'profile'>,
  authorization: Authorization | undefined,
): RequestTarget {
  const baseUrls = [profile.base_url, profile.trace_base_url, profile.chat_base_url, profile.train_base_url];
  const isInProfile = baseUrls.some((base = '') => URL.canParse(base) && new URL(base).origin === url.origin);
  return { url, isLocal, profile: name, isInProfile, authorization };
}

/** How far a request has come, for a failure. */
export function progressFacts(context: RequestContext): FailureFacts {
  const { phase, sentBytes: bytesSent, attempts } = context.progress;
  return { url: context.target.url.href, phase, bytesSent, attempts, isRerunSafe: isRerunSafe(context) };
}

function isRerunSafe({ operation: { key = [], ids = {} }, draft, effect }: RequestContext): boolean {
  const hasGeneratedKey = key.some((what) => isGeneratedValue(draft, ids[what] ?? []));
  return isIdempotent(effect) && !hasGeneratedKey;
}

/** The service as messages name it: by its origin. */
export function serviceName({ url, isLocal }: RequestTarget): string {
  return isLocal ? 'the local service' : url.origin;
}
