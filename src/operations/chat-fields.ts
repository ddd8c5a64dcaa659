import { acceptedFields, type Fields, fieldsOf } from '../fields/field.ts';

const { boolean, integer, json, list, object, string } = fieldsOf();

const sampling = fieldsOf({ topic: 'Sampling' });
const samplingOrNull = fieldsOf({ topic: 'Sampling', nullable: true });
const response = fieldsOf({ topic: 'Response' });
const responseOrNull = fieldsOf({ topic: 'Response', nullable: true });
const engine = fieldsOf({ topic: 'Engine' });
const engineOrNull = fieldsOf({ topic: 'Engine', nullable: true });

// Messages have more variants than the interface states, which gives their fields no type (docs/internals/contract.md).
const messageFields: Fields = {
  content: json('Text, or an array of parts', { sample: 'Where is my parcel?' }),
  role: json('Role of the author: developer, system, user, assistant, tool or function', {
    advice: { required: true },
    sample: 'user',
  }),
  name: json('Name of the author', { sample: 'ada' }),
};

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

/** The fields of a chat body that every service of this family supports (docs/internals/contract.md); flags have dashes: --top-logprobs. */
export const chatRequestFields: Fields = {
  messages: list(
    'Instructions and conversation',
    { type: 'object', hasOpenFields: true, fields: messageFields, meant: '{"role":"user","content":"<text>"}' },
    {
      required: true,
      meant: '[{"role":"user","content":"<text>"}]',
      flagSummary: 'Instructions and conversation, as a JSON array; not needed with a prompt',
      sample: [{ role: 'user', content: 'Where is my parcel?' }],
    },
  ),
  model: string('Model to use', { short: 'm', nullable: true, isCommon: true, fill: 'model', sample: 'svc-local' }),
  frequency_penalty: samplingOrNull.number('Penalize tokens by how often they have occurred', {
    default: 0,
    advice: { min: -2, max: 2 },
  }),
  logit_bias: sampling.object('Bias added to the logits of tokens, by token id', { sample: { '42': -1 } }),
  logprobs: responseOrNull.boolean('Return the log probability of each token', {
    default: false,
    meant: 'true, and "top_logprobs":<text>',
  }),
  top_logprobs: responseOrNull.integer('Most likely tokens to return at each position; needs logprobs', {
    default: 0,
    advice: { min: -1, needs: 'logprobs' },
    flagSummary: 'Most likely tokens to return at each position; needs --logprobs',
  }),
  max_tokens: samplingOrNull.integer('Maximum number of tokens to generate', {
    deprecated: 'max_completion_tokens',
    advice: { min: 1 },
    sample: 256,
  }),
  max_completion_tokens: samplingOrNull.integer('Maximum number of tokens to generate; includes reasoning', {
    advice: { min: 1 },
    isCommon: true,
    sample: 256,
  }),
  n: samplingOrNull.integer('Number of choices to generate', { default: 1, advice: { min: 1, max: 16_384 } }),
  presence_penalty: samplingOrNull.number('Penalize tokens that have occurred', {
    default: 0,
    advice: { min: -2, max: 2 },
  }),
  response_format: response.object('Format of the response', {
    hasOpenFields: true,
    meant: '{"type":"<text>"}',
    flagSummary: 'Format of the response; --json-schema is shorter',
    fields: {
      type: json('Type of the format, such as json_schema', {
        advice: { required: true, oneOf: ['json_schema', 'json_object', 'text', 'structural_tag'] },
        sample: 'json_schema',
      }),
      json_schema: object('The schema of the response', { hasOpenFields: true, fields: responseSchemaFields }),
    },
  }),
  seed: samplingOrNull.integer('Random seed; 64-bit integers keep every digit', {
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
  stream: responseOrNull.boolean('Stream the response as it is generated', { default: false }),
  stream_options: response.object('Options of the stream; needs stream', {
    advice: { needs: 'stream' },
    flagSummary: 'Options of the stream; needs --stream',
    fields: {
      include_usage: boolean('End the stream with a chunk of token usage', { sample: true }),
      continuous_usage_stats: boolean('Report token usage in every chunk', { default: false }),
    },
  }),
  temperature: samplingOrNull.number('Sampling temperature; 0 selects the most likely token', {
    advice: { min: 0, max: 2 },
    isCommon: true,
    sample: 0.7,
  }),
  top_p: samplingOrNull.number('Sample from the most likely tokens; their total probability', {
    advice: { above: 0, max: 1 },
    isCommon: true,
    sample: 0.95,
  }),
  tools: responseOrNull.list(
    'Tools that the model may call, as a JSON array',
    {
      type: 'object',
      hasOpenFields: true,
      fields: {
        type: string('Type of the tool', { oneOf: ['function'] }),
        function: object('The function', {
          fields: toolFunctionFields,
          accepted: acceptedFields('strict defer_loading'),
        }),
      },
    },
    { advice: { isNonEmpty: true } },
  ),
  tool_choice: response.string(
    'Tools that the model may or must call; none, and on most servers auto, required or a named tool',
    {
      oneOf: ['none'],
      wider: [
        { type: 'string', oneOf: ['auto'], isUsual: true },
        { type: 'string', oneOf: ['required'] },
        { type: 'object', fields: { type: string('Kind', { oneOf: ['allowed_tools'] }) }, isUsual: true },
        { type: 'object' },
      ],
      meant: '{"type":"function","function":{"name":"<text>"}}',
      default: 'none',
    },
  ),
  reasoning_effort: responseOrNull.string('Reasoning effort', {
    oneOf: ['low', 'medium', 'high'],
    wider: [{ type: 'string', oneOf: ['none', 'minimal', 'xhigh', 'max'] }],
    isCommon: true,
  }),
  include_reasoning: response.boolean('Return the reasoning', { default: true }),
  parallel_tool_calls: responseOrNull.boolean('Allow several tool calls at once', { default: true }),
  user: engineOrNull.string('Identifier of the end user', { sample: 'ada' }),
};

const structuredOutputFields: Fields = {
  json: string('JSON Schema of the response, as a string', {
    wider: [{ type: 'object' }],
    advice: { conflicts: ['regex', 'choice', 'grammar', 'json_object', 'structural_tag'] },
    sample: '{"type":"object"}',
  }),
  regex: string('Regular expression that the whole response matches', {
    advice: { conflicts: ['choice', 'grammar', 'json_object', 'structural_tag'] },
    sample: '[a-z]+',
  }),
  choice: list(
    'The possible responses',
    { type: 'string' },
    { advice: { isNonEmpty: true, conflicts: ['grammar', 'json_object', 'structural_tag'] }, sample: ['yes', 'no'] },
  ),
  grammar: string('Context-free grammar of the response', {
    advice: { conflicts: ['json_object', 'structural_tag'] },
    sample: 'root ::= "yes" | "no"',
  }),
  json_object: boolean('Any JSON object', { advice: { conflicts: ['structural_tag'] } }),
  disable_fallback: boolean('Do not fall back to another backend', { default: false }),
  disable_any_whitespace: boolean('No whitespace between JSON tokens', { default: false }),
  disable_additional_properties: boolean('No fields beyond the schema', { default: false }),
  whitespace_pattern: string('Regular expression of the allowed whitespace', { sample: '[ ]?' }),
  structural_tag: string('Structural tag, as a JSON string', { sample: '{}' }),
  _backend: string('Internal: the backend', { sample: 'auto' }),
  _backend_was_auto: boolean('Internal: the backend was selected automatically', { default: false }),
};

const scalarShape = { type: 'either', of: [{ type: 'string' }, { type: 'number' }] } as const;

/** The fields of a chat body that belong to the inference engine (docs/internals/contract.md). */
export const chatEngineFields: Fields = {
  use_beam_search: sampling.boolean('Use beam search instead of sampling', { default: false }),
  top_k: samplingOrNull.integer('Sample from this many most likely tokens', { advice: { min: -1 }, sample: 40 }),
  min_p: samplingOrNull.number('Minimum probability of a token; relative to the most likely one', {
    advice: { min: 0, max: 1 },
    sample: 0.05,
  }),
  repetition_penalty: samplingOrNull.number('Penalize repeated tokens, if above 1; counts prompt and response', {
    advice: { above: 0 },
    sample: 1.1,
  }),
  length_penalty: sampling.number('Beam search: prefer long responses, if above 1', { default: 1 }),
  stop_token_ids: samplingOrNull.list(
    'Token ids that end the response',
    { type: 'integer' },
    { default: [], flagSummary: 'Token id that ends the response (repeatable)' },
  ),
  include_stop_str_in_output: response.boolean('Include the stop text in the response', { default: false }),
  ignore_eos: sampling.boolean('Continue after the end-of-sequence token', { default: false }),
  min_tokens: sampling.integer('Minimum number of tokens to generate', {
    default: 0,
    advice: { min: 0, atMost: ['max_tokens', 'max_completion_tokens'] },
  }),
  skip_special_tokens: response.boolean('Omit special tokens from the text', { default: true }),
  spaces_between_special_tokens: response.boolean('Put spaces between special tokens', { default: true }),
  truncate_prompt_tokens: responseOrNull.integer(
    'Keep only the last n tokens of the prompt; -1 is the maximum of the model',
    { min: -1, max: 9223372036854776000n, advice: { max: 9223372036854775807n }, sample: 4096 },
  ),
  prompt_logprobs: responseOrNull.integer('Most likely tokens to return, for the prompt; not with stream', {
    advice: { min: -1, conflicts: ['stream'] },
    flagSummary: 'Most likely tokens to return, for the prompt; not with --stream',
    sample: 1,
  }),
  allowed_token_ids: samplingOrNull.list(
    'Token ids that may be generated; all others are excluded',
    { type: 'integer' },
    {
      advice: { isNonEmpty: true },
      flagSummary: 'Token id that may be generated; all others are excluded (repeatable)',
      sample: [42, 43],
    },
  ),
  bad_words: sampling.list(
    'Words that must not be generated',
    { type: 'string' },
    { advice: { hasText: true }, flagSummary: 'Word that must not be generated (repeatable)', sample: ['parcel'] },
  ),
  echo: response.boolean('Prepend the last message to the response; if both have the same role', { default: false }),
  add_generation_prompt: engine.boolean('Add the generation prompt of the chat template', { default: true }),
  continue_final_message: engine.boolean(
    'Continue the last message; no response to it; needs add_generation_prompt false',
    {
      default: false,
      excludes: 'add_generation_prompt',
      flagSummary: 'Continue the last message; no response to it; needs --no-add-generation-prompt; see --prefill',
    },
  ),
  add_special_tokens: engine.boolean('Add special tokens; in addition to those of the chat template', {
    default: false,
  }),
  documents: engineOrNull.list(
    'Documents for retrieval; preferably with title and text; no effect if the template lacks support',
    { type: 'object' },
    { meant: '[{"text":"<text>"}]', sample: [{ title: 'Parcels', text: 'Parcels take two days.' }] },
  ),
  chat_template: engineOrNull.string('Chat template; required if the model defines none', { sample: '{{ messages }}' }),
  chat_template_kwargs: engine.object('Additional arguments of the chat template', { sample: { brief: true } }),
  mm_processor_kwargs: engine.object('Arguments of the multimodal processor', { sample: { crops: 4 } }),
  structured_outputs: response.object('Constraints on the text of the response', { fields: structuredOutputFields }),
  priority: engine.integer('Priority, lowest first; must be 0 unless the server schedules by priority', {
    default: 0,
    advice: { min: -9223372036854775808n, max: 9223372036854775807n },
  }),
  request_id: engine.string('Request id, returned in the response', {
    defaultsTo: 'generated by the server',
    sample: 'req-17',
  }),
  return_tokens_as_token_ids: responseOrNull.boolean('With logprobs: write tokens as token_id:<id>', {
    flagSummary: 'With --logprobs: write tokens as token_id:<id>',
    sample: true,
  }),
  return_token_ids: responseOrNull.boolean(
    'Return token ids; in a stream, each chunk has its own, and the first one also those of the prompt',
    { sample: true },
  ),
  cache_salt: engineOrNull.string('Salt of the prefix cache: a long random secret', {
    isSecret: true,
    advice: { isNonEmpty: true, format: 'cache-salt' },
    flagSummary: 'Salt of the prefix cache, a secret (random, @file, or @- for stdin)',
    sample: 'replace-with-43-or-more-random-base64url-characters',
  }),
  kv_transfer_params: engine.object('Parameters for disaggregated serving', { sample: { remote: 'host-2' } }),
  svc_xargs: engine.object('Parameters of custom extensions; strings, numbers or arrays of them', {
    values: { type: 'either', of: [{ type: 'string' }, { type: 'number' }, { type: 'list', of: scalarShape }] },
    sample: { mode: 'fast', limits: [1, 2] },
  }),
  repetition_detection: sampling.object('End early when a pattern of tokens repeats', {
    fields: {
      max_pattern_size: integer('Maximum length of the pattern', { sample: 0 }),
      min_pattern_size: integer('Minimum length of the pattern', {
        advice: { atMost: ['max_pattern_size'] },
        sample: 0,
      }),
      min_count: integer('Number of repetitions that ends the response', { sample: 0 }),
    },
  }),
};
