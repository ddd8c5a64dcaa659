import { Buffer } from 'node:buffer';
import { enforceChecks } from '../../body/body-check.ts';
import { buildBody } from '../../body/build-body.ts';
import { createBodyInputs } from '../../body/input-reader.ts';
import { createJobGuard, createTrainingJob } from '../../client/job-guard.ts';
import type { ReadOutcome } from '../../client/read-response.ts';
import { prepareRequest } from '../../client/request.ts';
import { resolveSettings } from '../../client/resolve-settings.ts';
import type { ResponseMemory } from '../../client/response-memory.ts';
import { sendAlone } from '../../client/send.ts';
import { resolveDefaults, selectProfile } from '../../config/select-profile.ts';
import type { ServiceOptions } from '../../config/settings.ts';
import type { Context } from '../../context.ts';
import { toFailure } from '../../errors.ts';
import type { Fields, Shape } from '../../fields/field.ts';
import { objectSchema } from '../../fields/json-schema.ts';
import { formatByteSize } from '../../files/byte-size.ts';
import { rootOf } from '../../json/json-node.ts';
import { compactJson, type JsonValue, RawJson } from '../../json/write-json.ts';
import { operationAt, type typedOperations } from '../../operations/all-operations.ts';
import { feedbackReplaceOperation } from '../../operations/feedback-replace.ts';
import type { Operation } from '../../operations/operation.ts';
import { failureJson } from '../../output/failure-text.ts';
import { createTraceContext, readTraceParent } from '../../trace/trace-context.ts';

export interface McpTool {
  readonly name: string;
  readonly title: string;
  readonly operation: Operation;
  /** The description of the tool, if that of the operation is about the command line. */
  readonly about?: string;
}

// By path, so that the compiler reports an operation that is missing; in the order in which tools are listed.
const toolsByPath: {
  readonly [path in (typeof typedOperations)[number]['path']]: Pick<McpTool, 'title' | 'about'>;
} = {
  '/feedback/payload_schema': { title: 'Discover feedback schema' },
  '/v1/chat/completions': {
    title: 'Create chat completion',
    about: 'Returns the whole response; a stream is joined into one response.',
  },
  '/call/start': { title: 'Record call start' },
  '/feedback/replace': {
    title: 'Replace feedback',
    about:
      'Deletes the record with the feedback id and stores a new one, whose id is id, or a generated one. To create a record, give a new UUID as both feedback_id and id; to correct it, send both again with another payload; to take it back, with the payload {}. There is no operation that reads or deletes records.',
  },
  '/v1/preview/training-jobs': { title: 'Create training job' },
};

export const mcpTools: readonly McpTool[] = Object.entries(toolsByPath).flatMap(([path, texts]) => {
  const operation = operationAt(path);
  return operation ? [{ name: operation.command.join('_'), operation, ...texts }] : [];
});

/** What `tools/list` returns: all of it follows from the operations. A project is required only if svc does not fill it in. */
export async function describeTools(
  tools: readonly McpTool[],
  options: ServiceOptions,
  context: Context,
): Promise<JsonValue[]> {
  const fillsProject = await hasDefaultProject(options, context);
  return tools.map(({ name, title, operation, about = operation.about }) => {
    const { summary, isPreview, body, effect } = operation;
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
  });
}

async function hasDefaultProject(options: ServiceOptions, context: Context): Promise<boolean> {
  try {
    const { project } = await resolveDefaults(await selectProfile(options, context), context);
    return project.text !== undefined;
  } catch {
    // A call reports what is wrong.
    return false;
  }
}

type JsonSchema = { readonly [keyword: string]: JsonValue };

// Describes every field of the structured content and rejects only what svc rejects: servers send null, or other types than the
// interface has, and clients do not accept a result that its schema rejects.
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

type ToolResult = { readonly [name: string]: JsonValue };

// A larger response would fill the context of a model.
const MAX_RESULT_BYTES = 64 * 1024;

/** Checks and sends `args`, a JSON text. Never throws: a failure is a result with `isError`. */
export async function runTool(
  operation: Operation,
  args: string,
  traceParent: string | undefined,
  options: ServiceOptions,
  context: Context,
  memory: ResponseMemory,
): Promise<ToolResult> {
  const { redact } = context.report;
  const warnings: string[] = [];
  const warn = async (text: string): Promise<void> => {
    warnings.push(`Warning: ${text}`);
    await context.report.warn(text);
  };
  const callContext = { ...context, report: { ...context.report, warn } };
  try {
    const outcome = await sendArguments(operation, args, traceParent, options, callContext, memory);
    const { doc, failure } = outcome;
    warnings.push(...outcome.warnings.map((warning) => `Warning: ${warning}`));
    // A request that was applied is paid for: so the partial output of an incomplete or invalid response is returned, too.
    if (failure || !doc)
      return errorResult(failure ? failureJson(failure, redact) : '', ...warnings, doc ? firstText(outcome.bytes) : '');
    const bytes = outcome.bytes.length;
    if (bytes <= MAX_RESULT_BYTES)
      return {
        content: textContent(outcome.bytes.toString(), ...warnings),
        structuredContent: new RawJson(compactJson(rootOf(doc))),
      };
    const note = `The response has ${formatByteSize(bytes)}; these are the first ${formatByteSize(MAX_RESULT_BYTES)}. The request was applied.`;
    return errorResult(note, ...warnings, firstText(outcome.bytes));
  } catch (error) {
    return errorResult(failureJson(toFailure(error), redact), ...warnings);
  } finally {
    memory.release();
  }
}

async function sendArguments(
  operation: Operation,
  args: string,
  traceParent: string | undefined,
  options: ServiceOptions,
  context: Context,
  memory: ResponseMemory,
): Promise<ReadOutcome> {
  const { runtime } = context;
  const settings = await resolveSettings(operation, options, context);
  const parent = operation.continuesTrace ? readTraceParent({ TRACEPARENT: traceParent }) : undefined;
  const trace = parent && createTraceContext(parent, runtime);
  // The arguments of the call are the only input: without flags, nothing else of the machine can be read through it.
  const draft = await buildBody(
    { operation, args: [], given: new Map(), options: {}, isStdinTerminal: true },
    { settings: { ...settings.defaults, trace }, base: { whole: { label: 'arguments', bytes: Buffer.from(args) } } },
    createBodyInputs(context),
  );
  await enforceChecks(draft, operation, { ...settings, origin: 'tool' }, context.report);
  const isTraining = typeof operation.arguments?.as === 'object';
  const guard = isTraining ? createJobGuard(createTrainingJob(draft, ['mcp'], settings), false, context) : undefined;
  return sendAlone(prepareRequest(settings, draft), settings, context, { guard, memory });
}

function errorResult(...texts: readonly string[]): ToolResult {
  return { content: textContent(...texts.filter((text) => text !== '')), isError: true };
}

function textContent(...texts: readonly string[]): JsonValue {
  return texts.map((text) => ({ type: 'text', text }));
}

function firstText(bytes: Buffer): string {
  return bytes
    .subarray(0, MAX_RESULT_BYTES)
    .toString()
    .replace(/\ufffd+$/, '');
}
