import { type Fields, fieldsOf } from '../fields/field.ts';
import { chatTopics } from './chat-request-fields.ts';

const { boolean, integer, list, string } = fieldsOf();
const { sampling, response, engine } = chatTopics;

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

/** The fields of a chat body that belong to the inference engine (docs/contract.md). */
export const chatEngineFields: Fields = {
  use_beam_search: sampling.boolean('Use beam search instead of sampling', { default: false }),
  top_k: sampling.integer('Sample from this many most likely tokens', {
    nullable: true,
    advice: { min: -1 },
    sample: 40,
  }),
  min_p: sampling.number('Minimum probability of a token; relative to the most likely one', {
    nullable: true,
    advice: { min: 0, max: 1 },
    sample: 0.05,
  }),
  repetition_penalty: sampling.number('Penalize repeated tokens, if above 1; counts prompt and response', {
    nullable: true,
    advice: { above: 0 },
    sample: 1.1,
  }),
  length_penalty: sampling.number('Beam search: prefer long responses, if above 1', { default: 1 }),
  stop_token_ids: sampling.list(
    'Token ids that end the response',
    { type: 'integer' },
    { nullable: true, default: [], flagSummary: 'Token id that ends the response (repeatable)' },
  ),
  include_stop_str_in_output: response.boolean('Include the stop text in the response', { default: false }),
  ignore_eos: sampling.boolean('Continue after the end-of-sequence token', { default: false }),
  min_tokens: sampling.integer('Minimum number of tokens to generate', {
    default: 0,
    advice: { min: 0, atMost: ['max_tokens', 'max_completion_tokens'] },
  }),
  skip_special_tokens: response.boolean('Omit special tokens from the text', { default: true }),
  spaces_between_special_tokens: response.boolean('Put spaces between special tokens', { default: true }),
  truncate_prompt_tokens: response.integer(
    'Keep only the last n tokens of the prompt; -1 is the maximum of the model',
    { nullable: true, min: -1, max: 9223372036854776000n, advice: { max: 9223372036854775807n }, sample: 4096 },
  ),
  prompt_logprobs: response.integer('Most likely tokens to return, for the prompt; not with stream', {
    nullable: true,
    advice: { min: -1, conflicts: ['stream'] },
    flagSummary: 'Most likely tokens to return, for the prompt; not with --stream',
    sample: 1,
  }),
  allowed_token_ids: sampling.list(
    'Token ids that may be generated; all others are excluded',
    { type: 'integer' },
    {
      nullable: true,
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
  documents: engine.list(
    'Documents for retrieval; preferably with title and text; no effect if the template lacks support',
    { type: 'object' },
    { nullable: true, sample: [{ title: 'Parcels', text: 'Parcels take two days.' }] },
  ),
  chat_template: engine.string('Chat template; required if the model defines none', {
    nullable: true,
    sample: '{{ messages }}',
  }),
  chat_template_kwargs: engine.object('Additional arguments of the chat template', { sample: { brief: true } }),
  mm_processor_kwargs: engine.object('Arguments of the multimodal processor', { sample: { crops: 4 } }),
  structured_outputs: response.object('Constraints on the text of the response', { fields: structuredOutputFields }),
  priority: engine.integer('Priority, lowest first; must be 0 unless the server schedules by priority', {
    default: 0,
    advice: { min: -9223372036854775808n, max: 9223372036854775807n },
  }),
  request_id: engine.string('Request id, returned in the response (default: generated by the server)', {
    sample: 'req-17',
  }),
  return_tokens_as_token_ids: response.boolean('With logprobs: write tokens as token_id:<id>', {
    nullable: true,
    flagSummary: 'With --logprobs: write tokens as token_id:<id>',
    sample: true,
  }),
  return_token_ids: response.boolean(
    'Return token ids; in a stream, each chunk has its own, and the first one also those of the prompt',
    { nullable: true, sample: true },
  ),
  cache_salt: engine.string('Salt of the prefix cache: a long random secret', {
    nullable: true,
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
