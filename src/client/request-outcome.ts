import { toFailure } from '../errors.ts';
import { firstStringMember, rootOf } from '../json/json-node.ts';
import type { JobOutcome } from '../train/history/training-job.ts';
import { factsWithoutResponse } from './failure.ts';
import type { RequestContext } from './request-context.ts';
import type { AttemptResult } from './send-once.ts';

/** The outcome of a request with a response: it was applied, even if the response breaks the interface. */
export function outcomeOfResponse({ parsedResponse }: AttemptResult, { operation }: RequestContext): JobOutcome {
  const id = parsedResponse?.doc && firstStringMember(rootOf(parsedResponse.doc), operation.result.member);
  return { applied: 'yes', exitCode: parsedResponse?.failure?.exitCode ?? 0, id };
}

/** The outcome of a request that failed; if the failure does not say, its phase decides. */
export function outcomeOfFailure(error: unknown, sent: RequestContext): JobOutcome {
  const { exitCode, facts } = toFailure(error);
  return { applied: facts.applied ?? factsWithoutResponse(sent).applied ?? 'unknown', exitCode, id: undefined };
}
