import type { Operation } from '../operations/operation.ts';
import { startCall } from './behaviours/call-start.ts';
import { answerChat } from './behaviours/chat.ts';
import { replaceFeedback } from './behaviours/feedback-replace.ts';
import { describePayloads } from './behaviours/feedback-schema.ts';
import { createJob } from './behaviours/train.ts';
import { Refusal } from './refusal.ts';
import type { Behaviour } from './world.ts';

const byPath: { readonly [path: string]: Behaviour } = {
  '/feedback/replace': replaceFeedback,
  '/feedback/payload_schema': describePayloads,
  '/v1/chat/completions': answerChat,
  '/v1/preview/training-jobs': createJob,
  '/call/start': startCall,
};

/** What the local service does for an operation. Throws Refusal 501 for one that has no behaviour yet. */
export function behaviourOf({ path }: Operation): Behaviour {
  const behaviour = byPath[path];
  if (!behaviour) throw new Refusal(501, `the local service cannot do ${path} yet`);
  return behaviour;
}
