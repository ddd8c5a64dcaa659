import { resolveSettings } from '../../client/settings.ts';
import type { Context } from '../../context.ts';
import type { Fields, Shape } from '../../fields/field.ts';
import { objectSchema } from '../../fields/json-schema.ts';
import type { FlagValues } from '../../flag.ts';
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

/** True for a tool that changes nothing that the service stores, although it can cost money: it needs no `--allow`. */
export function isOfferedAlways({ operation: { effect } }: McpTool): boolean {
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
    inputSchema: objectSchema(body, 'tool', ({ fill }) => fillsProject && fill === 'project'),
    outputSchema: outputSchema(operation),
    annotations: {
      title,
      readOnlyHint: effect === 'read',
      destructiveHint: operation === feedbackReplaceOperation,
      // Calls and feedback without ids get new ids each time.
      idempotentHint: effect === 'read',
      openWorldHint: true,
    },
  };
}

type JsonSchema = { readonly [keyword: string]: JsonValue };

/**
 * The JSON Schema of the structured content of a tool. It describes every field and rejects only what svc rejects: servers
 * send null, or other types than the interface has, and clients do not accept a result that its schema rejects.
 */
function outputSchema({ reply, result: { member, as } }: Operation): JsonSchema {
  const properties = describeFields(reply);
  const result = as === 'record' ? {} : { type: 'array' };
  return {
    type: 'object',
    properties: { ...properties, [member]: { ...properties[member], ...result } },
    required: [member],
  };
}

function describeFields(fields: Fields): { readonly [name: string]: JsonSchema } {
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, describeShape(field)]));
}

// Keywords without `type` hold for values of their own type alone.
function describeShape(shape: Shape): JsonSchema {
  if (shape.type === 'list') return { items: describeShape(shape.of) };
  return shape.type === 'object' && shape.fields ? { properties: describeFields(shape.fields) } : {};
}

/** True if the environment, `.svc.json` or the profile names a project, which svc adds to arguments without one. */
export async function hasDefaultProject(flags: FlagValues, context: Context): Promise<boolean> {
  try {
    // As for a dry run: the tools are listed without a base URL, too.
    const { isExact, defaults } = await resolveSettings(
      feedbackSchemaOperation,
      new Map([...flags, ['dry-run', true]]),
      context,
    );
    return !isExact && defaults.project.text !== undefined;
  } catch {
    // A call reports what is wrong.
    return false;
  }
}
