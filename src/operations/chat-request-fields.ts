import type { Fields } from '../fields/field.ts';

// Messages have more variants than the interface states, which gives their fields no type (docs/contract.md).
const messageFields = {
  content: { type: 'json', summary: 'Text, or an array of parts', sample: 'Where is my parcel?' },
  role: {
    type: 'json',
    advice: { required: true },
    summary: 'Role of the author: system, developer, user, assistant or tool',
    sample: 'user',
  },
  name: { type: 'json', summary: 'Name of the author', sample: 'ada' },
} as const satisfies Fields;

/** The fields of a function that a model can call. */
export const toolFunctionFields = {
  name: { type: 'string', summary: 'Name that the model uses to call it', sample: 'lookup' },
  description: { type: 'string', summary: 'Description for the model', sample: 'Looks up a parcel' },
  parameters: { type: 'object', summary: 'JSON Schema of its arguments', sample: { type: 'object', properties: {} } },
} as const satisfies Fields;

const responseSchemaFields = {
  name: { type: 'string', summary: 'Name of the schema', sample: 'answer' },
  description: { type: 'string', summary: 'Description of the response, for the model', sample: 'A short answer' },
  schema: { type: 'object', summary: 'The JSON Schema', sample: { type: 'object' } },
  strict: { type: 'boolean', summary: 'Require the response to match the schema exactly' },
} as const satisfies Fields;

/** The fields of a chat body that every service of this family supports (docs/contract.md). */
export const chatRequestFields = {
  messages: {
    type: 'list',
    of: { type: 'object', hasOpenFields: true, fields: messageFields },
    required: true,
    summary: 'Instructions and conversation',
    flagSummary: 'Instructions and conversation, as a JSON array; not needed with a prompt',
    sample: [{ role: 'user', content: 'Where is my parcel?' }],
  },
  model: {
    type: 'string',
    short: 'm',
    nullable: true,
    isCommon: true,
    fill: 'model',
    summary: 'Model to use',
    sample: 'svc-local',
  },
  frequency_penalty: {
    topic: 'Sampling',
    type: 'number',
    nullable: true,
    default: 0,
    advice: { min: -2, max: 2 },
    summary: 'Penalize tokens by how often they have occurred',
  },
  logit_bias: {
    topic: 'Sampling',
    type: 'object',
    summary: 'Bias added to the logits of tokens, by token id',
    sample: { '42': -1 },
  },
  logprobs: {
    topic: 'Response',
    type: 'boolean',
    nullable: true,
    default: false,
    summary: 'Return the log probability of each token',
  },
  top_logprobs: {
    topic: 'Response',
    type: 'integer',
    nullable: true,
    default: 0,
    advice: { needs: 'logprobs' },
    summary: 'Most likely tokens to return at each position; needs logprobs',
    flagSummary: 'Most likely tokens to return at each position; needs --logprobs',
  },
  max_tokens: {
    topic: 'Sampling',
    type: 'integer',
    nullable: true,
    deprecated: 'max_completion_tokens',
    summary: 'Maximum number of tokens to generate',
    sample: 256,
  },
  max_completion_tokens: {
    topic: 'Sampling',
    type: 'integer',
    nullable: true,
    isCommon: true,
    summary: 'Maximum number of tokens to generate; includes reasoning',
    sample: 256,
  },
  n: {
    topic: 'Sampling',
    type: 'integer',
    nullable: true,
    default: 1,
    advice: { min: 1 },
    summary: 'Number of choices to generate',
  },
  presence_penalty: {
    topic: 'Sampling',
    type: 'number',
    nullable: true,
    default: 0,
    advice: { min: -2, max: 2 },
    summary: 'Penalize tokens that have occurred',
  },
  response_format: {
    topic: 'Response',
    type: 'object',
    hasOpenFields: true,
    summary: 'Format of the response',
    flagSummary: 'Format of the response; --json-schema is shorter',
    fields: {
      type: { type: 'json', summary: 'Type of the format, such as json_schema', sample: 'json_schema' },
      json_schema: {
        type: 'object',
        hasOpenFields: true,
        fields: responseSchemaFields,
        summary: 'The schema of the response',
      },
    },
  },
  seed: {
    topic: 'Sampling',
    type: 'integer',
    nullable: true,
    // The interface states the bounds of int64 rounded to doubles; real servers enforce int64 itself.
    min: -9223372036854776000n,
    max: 9223372036854776000n,
    advice: { min: -9223372036854775808n, max: 9223372036854775807n },
    isCommon: true,
    summary: 'Random seed; 64-bit integers keep every digit',
    sample: 9007199254740993n,
  },
  stop: {
    topic: 'Sampling',
    type: 'list',
    of: { type: 'json' },
    wider: [{ type: 'string' }],
    default: [],
    isCommon: true,
    summary: 'Texts that end the response',
    flagSummary: 'Text that ends the response (repeatable)',
    sample: ['###'],
  },
  stream: {
    topic: 'Response',
    type: 'boolean',
    nullable: true,
    default: false,
    summary: 'Stream the response as it is generated',
  },
  stream_options: {
    topic: 'Response',
    type: 'object',
    advice: { needs: 'stream' },
    summary: 'Options of the stream; needs stream',
    flagSummary: 'Options of the stream; needs --stream',
    fields: {
      include_usage: { type: 'boolean', summary: 'End the stream with a chunk of token usage', sample: true },
      continuous_usage_stats: { type: 'boolean', default: false, summary: 'Report token usage in every chunk' },
    },
  },
  temperature: {
    topic: 'Sampling',
    type: 'number',
    nullable: true,
    advice: { min: 0 },
    isCommon: true,
    summary: 'Sampling temperature; 0 selects the most likely token',
    sample: 0.7,
  },
  top_p: {
    topic: 'Sampling',
    type: 'number',
    nullable: true,
    advice: { above: 0, max: 1 },
    isCommon: true,
    summary: 'Sample from the most likely tokens; their total probability',
    sample: 0.95,
  },
  tools: {
    topic: 'Response',
    type: 'list',
    nullable: true,
    of: {
      type: 'object',
      hasOpenFields: true,
      fields: {
        type: { type: 'string', oneOf: ['function'], summary: 'Type of the tool' },
        function: { type: 'object', fields: toolFunctionFields, summary: 'The function' },
      },
    },
    summary: 'Tools that the model may call, as a JSON array',
  },
  tool_choice: {
    topic: 'Response',
    type: 'string',
    oneOf: ['none'],
    wider: [{ type: 'string', oneOf: ['auto', 'required'] }, { type: 'object' }],
    default: 'none',
    summary: 'Tools that the model may or must call; none, and on most servers auto, required or a named tool',
  },
  reasoning_effort: {
    topic: 'Response',
    type: 'string',
    nullable: true,
    oneOf: ['low', 'medium', 'high'],
    isCommon: true,
    summary: 'Reasoning effort',
  },
  include_reasoning: { topic: 'Response', type: 'boolean', default: true, summary: 'Return the reasoning' },
  parallel_tool_calls: {
    topic: 'Response',
    type: 'boolean',
    nullable: true,
    default: true,
    summary: 'Allow several tool calls at once',
  },
  user: { topic: 'Engine', type: 'string', nullable: true, summary: 'Identifier of the end user', sample: 'ada' },
} as const satisfies Fields;
