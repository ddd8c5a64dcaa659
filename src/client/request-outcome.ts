import { toFailure } from '../errors.ts';
import { firstStringMember, rootOf } from '../json/json-node.ts';
import type { JobOutcome } from '../train/history/training-job.ts';
import { factsWithoutResponse } from './failure.ts';
import type { RequestContext } from './request-context.ts';
import type { AttemptResult } from './send-once.ts';

/** What became of a request that was answered: it was applied, also where the answer is none of the interface. */
export function outcomeOfResponse({ parsedResponse }: AttemptResult, { operation }: RequestContext): JobOutcome {
  const id = parsedResponse?.doc && firstStringMember(rootOf(parsedResponse.doc), operation.result.member);
  return { applied: 'yes', exitCode: parsedResponse?.failure?.exitCode ?? 0, id };
}

/** What became of a request that failed; where the failure does not say, how far it had come decides. */
export function outcomeOfFailure(error: unknown, sent: RequestContext): JobOutcome {
  const { exitCode, facts } = toFailure(error);
  return { applied: facts.applied ?? factsWithoutResponse(sent).applied ?? 'unknown', exitCode, id: undefined };
}
