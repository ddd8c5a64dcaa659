import type { Fields } from '../fields/field.ts';

// Messages have more variants than the interface prints, so nothing beyond these three is judged.
const messageFields = {
  content: { type: 'json', summary: 'Text, or a list of parts', sample: 'Where is my parcel?' },
  role: {
    type: 'string',
    advice: { required: true },
    summary: 'Who speaks: system, developer, user, assistant or tool',
    sample: 'user',
  },
  name: { type: 'string', summary: 'Name of the speaker', sample: 'ada' },
} as const satisfies Fields;

const toolFunctionFields = {
  name: { type: 'string', summary: 'Name the model calls it by', sample: 'lookup' },
  description: { type: 'string', summary: 'What it does, for the model', sample: 'Looks up a parcel' },
  parameters: { type: 'object', summary: 'JSON Schema of its arguments', sample: { type: 'object', properties: {} } },
} as const satisfies Fields;

const responseSchemaFields = {
  name: { type: 'string', summary: 'Name of the schema', sample: 'answer' },
  description: { type: 'string', summary: 'What the reply is, for the model', sample: 'A short answer' },
  schema: { type: 'object', summary: 'The JSON Schema', sample: { type: 'object' } },
  strict: { type: 'boolean', summary: 'The reply must follow the schema exactly' },
} as const satisfies Fields;

/** The members of a chat body that every service of this family knows (INTERFACE.md, chat completions, first part). */
export const chatRequestFields = {
  messages: {
    type: 'list',
    of: { type: 'object', open: true, fields: messageFields },
    required: true,
    summary: 'The conversation so far, as a JSON list; a prompt needs no list',
  },
  model: {
    type: 'string',
    short: 'm',
    nullable: true,
    common: true,
    fill: 'model',
    summary: 'Model that answers',
    sample: 'svc-local',
  },
  frequency_penalty: {
    type: 'number',
    nullable: true,
    default: 0,
    advice: { min: -2, max: 2 },
    summary: 'Lowers the chance of tokens by how often they came already',
  },
  logit_bias: { type: 'object', summary: 'Bias added to the logits of tokens, by token id', sample: { '42': -1 } },
  logprobs: { type: 'boolean', nullable: true, default: false, summary: 'Return the log probability of each token' },
  top_logprobs: {
    type: 'integer',
    nullable: true,
    default: 0,
    advice: { needs: 'logprobs' },
    summary: 'How many of the likeliest tokens to return at each place; needs --logprobs',
  },
  max_tokens: {
    type: 'integer',
    nullable: true,
    deprecated: 'use max_completion_tokens',
    summary: 'Most tokens to generate',
    sample: 256,
  },
  max_completion_tokens: {
    type: 'integer',
    nullable: true,
    common: true,
    summary: 'Most tokens to generate, reasoning included',
    sample: 256,
  },
  n: { type: 'integer', nullable: true, default: 1, advice: { min: 1 }, summary: 'How many choices to generate' },
  presence_penalty: {
    type: 'number',
    nullable: true,
    default: 0,
    advice: { min: -2, max: 2 },
    summary: 'Lowers the chance of tokens that came already',
  },
  response_format: {
    type: 'object',
    open: true,
    summary: 'Form of the reply; --json-schema is shorter',
    fields: {
      type: { type: 'json', summary: 'Kind of form, such as json_schema', sample: 'json_schema' },
      json_schema: {
        type: 'object',
        open: true,
        fields: responseSchemaFields,
        summary: 'The schema the reply must follow',
      },
    },
  },
  seed: {
    type: 'integer',
    nullable: true,
    // The interface prints the bounds of int64 as a double rounds them; real servers keep to int64 itself.
    min: -9223372036854776000n,
    max: 9223372036854776000n,
    advice: { min: -9223372036854775808n, max: 9223372036854775807n },
    common: true,
    summary: 'Seed of the sampling; all 64 bits count',
    sample: 9007199254740993n,
  },
  stop: {
    type: 'list',
    of: { type: 'json' },
    wider: [{ type: 'string' }],
    default: [],
    common: true,
    summary: 'Text that ends the reply; may be given again',
    sample: ['###'],
  },
  stream: { type: 'boolean', nullable: true, default: false, summary: 'Send the reply in pieces as it is made' },
  stream_options: {
    type: 'object',
    advice: { needs: 'stream' },
    summary: 'Settings of the stream',
    fields: {
      include_usage: { type: 'boolean', summary: 'End with a chunk that counts tokens', sample: true },
      continuous_usage_stats: { type: 'boolean', default: false, summary: 'Count tokens in every chunk' },
    },
  },
  temperature: {
    type: 'number',
    nullable: true,
    advice: { min: 0 },
    common: true,
    summary: 'Randomness of the sampling; 0 takes the likeliest token',
    sample: 0.7,
  },
  top_p: {
    type: 'number',
    nullable: true,
    advice: { above: 0, max: 1 },
    common: true,
    summary: 'Sample from the likeliest tokens that together have this probability',
    sample: 0.95,
  },
  tools: {
    type: 'list',
    nullable: true,
    of: {
      type: 'object',
      open: true,
      fields: {
        type: { type: 'string', oneOf: ['function'], summary: 'Kind of tool' },
        function: { type: 'object', fields: toolFunctionFields, summary: 'The function the tool is' },
      },
    },
    summary: 'Tools the model is told of',
  },
  tool_choice: {
    type: 'string',
    oneOf: ['none'],
    wider: [{ type: 'string', oneOf: ['auto', 'required'] }, { type: 'object' }],
    default: 'none',
    summary: 'Which tool the model must call',
  },
  reasoning_effort: {
    type: 'string',
    nullable: true,
    oneOf: ['low', 'medium', 'high'],
    common: true,
    summary: 'How much the model reasons before it answers',
  },
  include_reasoning: { type: 'boolean', default: true, summary: 'Return the reasoning too' },
  parallel_tool_calls: {
    type: 'boolean',
    nullable: true,
    default: true,
    summary: 'The model may call several tools at once',
  },
  user: { type: 'string', nullable: true, summary: 'Name of the end user', sample: 'ada' },
} as const satisfies Fields;
