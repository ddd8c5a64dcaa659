import { objectSchema } from '../../fields/json-schema.ts';
import type { JsonValue } from '../../json/write-json.ts';
import { callStartOperation } from '../../operations/call-start.ts';
import { chatOperation } from '../../operations/chat.ts';
import { feedbackReplaceOperation } from '../../operations/feedback-replace.ts';
import { feedbackSchemaOperation } from '../../operations/feedback-schema.ts';
import type { Operation } from '../../operations/operation.ts';
import { trainOperation } from '../../operations/train.ts';

/** An operation as a tool for agents. */
export interface McpTool {
  readonly name: string;
  readonly title: string;
  readonly operation: Operation;
  /** Offered without `--allow`: it changes nothing that the service stores. */
  readonly isAlwaysAllowed: boolean;
}

/** The tools, in the order in which they are listed. */
export const mcpTools: readonly McpTool[] = [
  {
    name: 'feedback_schema',
    title: 'Discover feedback schema',
    operation: feedbackSchemaOperation,
    isAlwaysAllowed: true,
  },
  { name: 'chat', title: 'Create chat completion', operation: chatOperation, isAlwaysAllowed: true },
  { name: 'call_start', title: 'Record call start', operation: callStartOperation, isAlwaysAllowed: false },
  { name: 'feedback_replace', title: 'Replace feedback', operation: feedbackReplaceOperation, isAlwaysAllowed: false },
  { name: 'train', title: 'Create training job', operation: trainOperation, isAlwaysAllowed: false },
];

/** The description of a tool that `tools/list` returns; schemas and annotations follow from the operation. */
export function describeTool({ name, title, operation }: McpTool): JsonValue {
  const { summary, about, preview, body, reply, effect } = operation;
  return {
    name,
    title,
    description: [`${summary}${preview ? ' (preview)' : ''}.`, about].filter(Boolean).join(' '),
    inputSchema: objectSchema(body),
    outputSchema: objectSchema(reply),
    annotations: {
      title,
      readOnlyHint: effect === 'read' || effect === 'paid',
      destructiveHint: operation === feedbackReplaceOperation,
      idempotentHint: effect === 'read' || effect === 'keyed',
      openWorldHint: true,
    },
  };
}
