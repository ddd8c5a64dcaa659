import type { knownOperations } from '../operations/index.ts';
import { startCall } from './behaviours/call-start.ts';
import { answerChat } from './behaviours/chat.ts';
import { replaceFeedback } from './behaviours/feedback-replace.ts';
import { describePayloads } from './behaviours/feedback-schema.ts';
import { createJob } from './behaviours/train.ts';
import type { Behaviour } from './world.ts';

/** What the local service does for each operation, by its path; an operation without a behaviour is a type error. */
export const behaviours: { readonly [path in (typeof knownOperations)[number]['path']]: Behaviour } = {
  '/feedback/replace': replaceFeedback,
  '/feedback/payload_schema': describePayloads,
  '/v1/chat/completions': answerChat,
  '/v1/preview/training-jobs': createJob,
  '/call/start': startCall,
};
