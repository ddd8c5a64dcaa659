import { callStartOperation } from './call-start.ts';
import { chatOperation } from './chat.ts';
import { feedbackReplaceOperation } from './feedback-replace.ts';
import { feedbackSchemaOperation } from './feedback-schema.ts';
import type { Operation } from './operation.ts';
import { trainOperation } from './train.ts';

/** All operations of the service, in the order of the interface, each with its own type: for tables that must miss none. */
export const typedOperations = [
  feedbackReplaceOperation,
  feedbackSchemaOperation,
  chatOperation,
  trainOperation,
  callStartOperation,
] as const;

export const allOperations: readonly Operation[] = typedOperations;

export function operationAt(path: string | undefined): Operation | undefined {
  return allOperations.find((operation) => operation.path === path);
}
