import { callStart } from './call-start.ts';
import { chat } from './chat.ts';
import { feedbackReplace } from './feedback-replace.ts';
import { feedbackSchema } from './feedback-schema.ts';
import type { Operation } from './operation.ts';
import { train } from './train.ts';

/** All operations of the service, in the order of the interface. */
export const operations: readonly Operation[] = [feedbackReplace, feedbackSchema, chat, train, callStart];
