import type { knownOperations } from '../operations/index.ts';
import type { Operation } from '../operations/operation.ts';
import { startCall } from './behaviours/call-start.ts';
import { answerChat } from './behaviours/chat.ts';
import { replaceFeedback } from './behaviours/feedback-replace.ts';
import { describePayloads } from './behaviours/feedback-schema.ts';
import { takeJobs } from './behaviours/train.ts';
import { wholeBodies } from './whole-bodies.ts';
import type { Intake } from './world.ts';

/** What the local service does for each operation, by its path; an operation without a behaviour is a type error. */
export const behaviours: {
  readonly [path in (typeof knownOperations)[number]['path']]: (operation: Operation) => Intake;
} = {
  '/feedback/replace': wholeBodies(replaceFeedback),
  '/feedback/payload_schema': wholeBodies(describePayloads),
  '/v1/chat/completions': wholeBodies(answerChat),
  '/v1/preview/training-jobs': takeJobs,
  '/call/start': wholeBodies(startCall),
};
