import type { typedOperations } from '../operations/all-operations.ts';
import type { Operation } from '../operations/operation.ts';
import { withBufferedBody } from './buffered-body.ts';
import { handleCallStart } from './handlers/call-start.ts';
import { handleChat } from './handlers/chat.ts';
import { handleFeedbackReplace } from './handlers/feedback-replace.ts';
import { handleFeedbackSchema } from './handlers/feedback-schema.ts';
import { createTrainReceiver } from './handlers/train.ts';
import type { BodyReceiver } from './service-context.ts';

/** What the local service does for each operation, by its path; an operation without a handler is a type error. */
export const operationHandlers: {
  readonly [path in (typeof typedOperations)[number]['path']]: (operation: Operation) => BodyReceiver;
} = {
  '/feedback/replace': withBufferedBody(handleFeedbackReplace),
  '/feedback/payload_schema': withBufferedBody(handleFeedbackSchema),
  '/v1/chat/completions': withBufferedBody(handleChat),
  '/v1/preview/training-jobs': createTrainReceiver,
  '/call/start': withBufferedBody(handleCallStart),
};
