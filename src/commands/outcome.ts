import { factsSoFar } from '../call/failures.ts';
import type { Sent } from '../call/sent.ts';
import { failureOf } from '../errors.ts';
import { rootOf, stringIn } from '../json/node.ts';
import type { Outcome } from '../ledger/job.ts';
import type { Answered } from './attempt.ts';

/** What became of a request that was answered: it was applied, also where the answer is none of the interface. */
export function outcomeOfAnswer({ answer }: Answered, { operation }: Sent): Outcome {
  const id = answer?.doc && stringIn(rootOf(answer.doc), operation.result.member);
  return { applied: 'yes', exitCode: answer?.broken?.exitCode ?? 0, id };
}

/** What became of a request that failed; where the failure does not say, how far it had come decides. */
export function outcomeOfFailure(error: unknown, sent: Sent): Outcome {
  const { exitCode, facts } = failureOf(error);
  return { applied: facts.applied ?? factsSoFar(sent).applied ?? 'unknown', exitCode, id: undefined };
}
