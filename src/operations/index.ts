import { callStart } from './call-start.ts';
import { chat } from './chat.ts';
import { feedbackReplace } from './feedback-replace.ts';
import { feedbackSchema } from './feedback-schema.ts';
import type { Operation } from './operation.ts';
import { train } from './train.ts';

/** All operations of the service, in the order of the interface, each with its own type: for tables that must miss none. */
export const knownOperations = [feedbackReplace, feedbackSchema, chat, train, callStart] as const;

/** The same, where one is like another. */
export const operations: readonly Operation[] = knownOperations;
