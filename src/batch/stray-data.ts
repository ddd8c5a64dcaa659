import { mayBeApplied } from '../client/failure.ts';
import { retryAdvice } from '../client/idempotency.ts';
import { type RequestContext, serviceName } from '../client/request-context.ts';
import { Failure } from '../errors.ts';

/** Watches for data that no request asked for, on the connections that a line used. It outlives the line, so it references little. */
export interface StrayDataWatch {
  /** Call it when such data arrives. */
  readonly onStrayData: () => void;
  readonly hasStrayData: () => boolean;
  /** Calls `revise` once if such data arrives from now on. */
  readonly setRevision: (revise: () => void) => void;
}

/** Creates the watch for stray data of one line. */
export function createStrayDataWatch(): StrayDataWatch {
  let hasStrayData = false;
  let revise: (() => void) | undefined;
  return {
    onStrayData: () => {
      hasStrayData = true;
      revise?.();
      revise = undefined;
    },
    hasStrayData: () => hasStrayData,
    setRevision: (action) => {
      revise = action;
    },
  };
}

/** Creates the failure of a line whose response may be for another request; the function holds no body. */
export function strayDataFailureOf({ target, effect, ids, progress: { attempts } }: RequestContext): () => Failure {
  const [service, url] = [serviceName(target), target.url.href];
  const suffix = mayBeApplied({ effect }).replace(' and', '; the request');
  return () =>
    new Failure(
      'unknown',
      `${service} sent a response that no request asked for on the same connection, so this response may be for another request${suffix}`,
      {
        summary: 'the response may be for another request',
        url,
        applied: 'unknown',
        attempts,
        ids,
        hint: retryAdvice(effect),
      },
    );
}
