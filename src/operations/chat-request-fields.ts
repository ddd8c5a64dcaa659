import { type Fields, fieldsOf } from '../fields/field.ts';

const { boolean, json, list, object, string } = fieldsOf();

/** The headings of help for the fields of a chat body. */
export const chatTopics = {
  sampling: fieldsOf('Sampling'),
  response: fieldsOf('Response'),
  engine: fieldsOf('Engine'),
};

const { sampling, response, engine } = chatTopics;

// Messages have more variants than the interface states, which gives their fields no type (docs/contract.md).
const messageFields: Fields = {
  content: json('Text, or an array of parts', { sample: 'Where is my parcel?' }),
  role: json('Role of the author: developer, system, user, assistant, tool or function', {
    advice: { required: true },
    sample: 'user',
  }),
  name: json('Name of the author', { sample: 'ada' }),
};

/** The fields of a function that a model can call. */
export const toolFunctionFields: Fields = {
  name: string('Name that the model uses to call it', { sample: 'lookup' }),
  description: string('Description for the model', { sample: 'Looks up a parcel' }),
  parameters: object('JSON Schema of its arguments', { sample: { type: 'object', properties: {} } }),
};

const responseSchemaFields: Fields = {
  name: string('Name of the schema', { advice: { required: true }, sample: 'answer' }),
  description: string('Description of the response, for the model', { sample: 'A short answer' }),
  schema: object('The JSON Schema', { sample: { type: 'object' } }),
  strict: boolean('Require the response to match the schema exactly'),
};

/** The fields of a chat body that every service of this family supports (docs/contract.md). */
export const chatRequestFields: Fields = {
  messages: list(
    'Instructions and conversation',
    { type: 'object', hasOpenFields: true, fields: messageFields },
    {
      required: true,
      flagSummary: 'Instructions and conversation, as a JSON array; not needed with a prompt',
      sample: [{ role: 'user', content: 'Where is my parcel?' }],
    },
  ),
  model: string('Model to use', { short: 'm', nullable: true, isCommon: true, fill: 'model', sample: 'svc-local' }),
  frequency_penalty: sampling.number('Penalize tokens by how often they have occurred', {
    nullable: true,
    default: 0,
    advice: { min: -2, max: 2 },
  }),
  logit_bias: sampling.object('Bias added to the logits of tokens, by token id', { sample: { '42': -1 } }),
  logprobs: response.boolean('Return the log probability of each token', { nullable: true, default: false }),
  top_logprobs: response.integer('Most likely tokens to return at each position; needs logprobs', {
    nullable: true,
    default: 0,
    advice: { min: -1, needs: 'logprobs' },
    flagSummary: 'Most likely tokens to return at each position; needs --logprobs',
  }),
  max_tokens: sampling.integer('Maximum number of tokens to generate', {
    nullable: true,
    deprecated: 'max_completion_tokens',
    advice: { min: 1 },
    sample: 256,
  }),
  max_completion_tokens: sampling.integer('Maximum number of tokens to generate; includes reasoning', {
    nullable: true,
    advice: { min: 1 },
    isCommon: true,
    sample: 256,
  }),
  n: sampling.integer('Number of choices to generate', { nullable: true, default: 1, advice: { min: 1 } }),
  presence_penalty: sampling.number('Penalize tokens that have occurred', {
    nullable: true,
    default: 0,
    advice: { min: -2, max: 2 },
  }),
  response_format: response.object('Format of the response', {
    hasOpenFields: true,
    flagSummary: 'Format of the response; --json-schema is shorter',
    fields: {
      type: json('Type of the format, such as json_schema', {
        advice: { required: true, oneOf: ['json_schema', 'json_object', 'text', 'structural_tag'] },
        sample: 'json_schema',
      }),
      json_schema: object('The schema of the response', { hasOpenFields: true, fields: responseSchemaFields }),
    },
  }),
  seed: sampling.integer('Random seed; 64-bit integers keep every digit', {
    nullable: true,
    // The interface states the bounds of int64 rounded to doubles; real servers enforce int64 itself.
    min: -9223372036854776000n,
    max: 9223372036854776000n,
    advice: { min: -9223372036854775808n, max: 9223372036854775807n },
    isCommon: true,
    sample: 9007199254740993n,
  }),
  stop: sampling.list(
    'Texts that end the response',
    { type: 'json' },
    {
      wider: [{ type: 'string' }],
      advice: { hasText: true },
      default: [],
      isCommon: true,
      flagSummary: 'Text that ends the response (repeatable)',
      sample: ['###'],
    },
  ),
  stream: response.boolean('Stream the response as it is generated', { nullable: true, default: false }),
  stream_options: response.object('Options of the stream; needs stream', {
    advice: { needs: 'stream' },
    flagSummary: 'Options of the stream; needs --stream',
    fields: {
      include_usage: boolean('End the stream with a chunk of token usage', { sample: true }),
      continuous_usage_stats: boolean('Report token usage in every chunk', { default: false }),
    },
  }),
  temperature: sampling.number('Sampling temperature; 0 selects the most likely token', {
    nullable: true,
    advice: { min: 0, max: 2 },
    isCommon: true,
    sample: 0.7,
  }),
  top_p: sampling.number('Sample from the most likely tokens; their total probability', {
    nullable: true,
    advice: { above: 0, max: 1 },
    isCommon: true,
    sample: 0.95,
  }),
  tools: response.list(
    'Tools that the model may call, as a JSON array',
    {
      type: 'object',
      hasOpenFields: true,
      fields: {
        type: string('Type of the tool', { oneOf: ['function'] }),
        function: object('The function', { fields: toolFunctionFields }),
      },
    },
    { nullable: true, advice: { isNonEmpty: true } },
  ),
  tool_choice: response.string(
    'Tools that the model may or must call; none, and on most servers auto, required or a named tool',
    {
      oneOf: ['none'],
      wider: [
        { type: 'string', oneOf: ['auto'], isUsual: true },
        { type: 'string', oneOf: ['required'] },
        { type: 'object' },
      ],
      default: 'none',
    },
  ),
  reasoning_effort: response.string('Reasoning effort', {
    nullable: true,
    oneOf: ['low', 'medium', 'high'],
    wider: [{ type: 'string', oneOf: ['none', 'minimal', 'xhigh', 'max'] }],
    isCommon: true,
  }),
  include_reasoning: response.boolean('Return the reasoning', { default: true }),
  parallel_tool_calls: response.boolean('Allow several tool calls at once', { nullable: true, default: true }),
  user: engine.string('Identifier of the end user', { nullable: true, sample: 'ada' }),
};
