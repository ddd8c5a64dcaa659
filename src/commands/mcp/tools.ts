import { objectSchema } from '../../fields/json-schema.ts';
import type { JsonValue } from '../../json/write-json.ts';
import { callStartOperation } from '../../operations/call-start.ts';
import { chatOperation } from '../../operations/chat.ts';
import { feedbackReplaceOperation } from '../../operations/feedback-replace.ts';
import { feedbackSchemaOperation } from '../../operations/feedback-schema.ts';
import type { Operation } from '../../operations/operation.ts';
import { trainOperation } from '../../operations/train.ts';
import { outputSchema } from './output-schema.ts';

/** An operation as a tool for agents. */
export interface McpTool {
  readonly name: string;
  readonly title: string;
  readonly operation: Operation;
  /** The description of the tool, if that of the operation is about the command line. */
  readonly about?: string;
}

/** The tools, in the order in which they are listed. */
export const mcpTools: readonly McpTool[] = [
  { name: 'feedback_schema', title: 'Discover feedback schema', operation: feedbackSchemaOperation },
  {
    name: 'chat',
    title: 'Create chat completion',
    operation: chatOperation,
    about: 'Returns the whole response; a stream is joined into one response.',
  },
  { name: 'call_start', title: 'Record call start', operation: callStartOperation },
  {
    name: 'feedback_replace',
    title: 'Replace feedback',
    operation: feedbackReplaceOperation,
    about:
      'Deletes the record with the feedback id and stores a new one. With an id, the new record has that id, so that the same request does not create a second one.',
  },
  { name: 'train', title: 'Create training job', operation: trainOperation },
];

/** True for a tool that changes nothing that the service stores: it is offered without `--allow`. */
export function isReadOnlyTool({ operation: { effect } }: McpTool): boolean {
  return effect === 'read' || effect === 'paid';
}

/**
 * The description of a tool that `tools/list` returns; schemas and annotations follow from the operation. A project is
 * required only if svc does not fill it in.
 */
export function describeTool(tool: McpTool, fillsProject: boolean): JsonValue {
  const { name, title, operation } = tool;
  const { summary, isPreview, body, effect } = operation;
  const about = tool.about ?? operation.about;
  return {
    name,
    title,
    description: [`${summary}${isPreview ? ' (preview)' : ''}.`, about].filter(Boolean).join(' '),
    inputSchema: objectSchema(body, 'validation', ({ fill }) => fillsProject && fill === 'project'),
    outputSchema: outputSchema(operation),
    annotations: {
      title,
      readOnlyHint: isReadOnlyTool(tool),
      destructiveHint: operation === feedbackReplaceOperation,
      // Calls and feedback without ids get new ids each time.
      idempotentHint: effect === 'read',
      openWorldHint: true,
    },
  };
}
