import { createBodyValidator } from '../fields/schema-validator.ts';
import { collectBody } from '../http/body-chunks.ts';
import type { typedOperations } from '../operations/all-operations.ts';
import type { Operation } from '../operations/operation.ts';
import { yieldAfterWork } from './event-loop.ts';
import { handleChat } from './handlers/chat.ts';
import { handleFeedbackSchema } from './handlers/feedback-schema.ts';
import { handleCallStart, handleFeedbackReplace } from './handlers/records.ts';
import { createTrainReceiver } from './handlers/train.ts';
import { parseRequestBody } from './request-body.ts';
import { invalidBodyResponse } from './responses.ts';
import type { BodyReceiver, OperationHandler } from './service-context.ts';

/** The handlers of the local service by operation path; an operation without a handler is a type error. */
export const operationHandlers: {
  readonly [path in (typeof typedOperations)[number]['path']]: (operation: Operation) => BodyReceiver;
} = {
  '/feedback/replace': withBufferedBody(handleFeedbackReplace),
  '/feedback/payload_schema': withBufferedBody(handleFeedbackSchema),
  '/v1/chat/completions': withBufferedBody(handleChat),
  '/v1/preview/training-jobs': createTrainReceiver,
  '/call/start': withBufferedBody(handleCallStart),
};

// Buffers the body of an operation, and validates it as the command line does before the handler gets it.
function withBufferedBody(handler: OperationHandler): (operation: Operation) => BodyReceiver {
  return (operation) => {
    const validate = createBodyValidator(operation);
    const discard = async (): Promise<void> => {};
    return async (chunks, length, caller, context) => {
      const bytes = await collectBody(chunks, operation.largestBody, length);
      const body = parseRequestBody(bytes);
      if (!('doc' in body)) return { findings: [body], apply: () => invalidBodyResponse([body], operation), discard };
      await yieldAfterWork(bytes.length, caller.signal);
      return { findings: validate(body), apply: () => handler(body, caller, context), discard };
    };
  };
}
