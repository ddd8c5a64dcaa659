import type { Field, Fields } from '../fields/field.ts';

const tokenLogprobFields = {
  token: { type: 'string', summary: 'Text of the token' },
  logprob: { type: 'number', summary: 'Its log probability' },
  bytes: { type: 'list', of: { type: 'integer' }, summary: 'Its bytes, which can be part of a character' },
} as const satisfies Fields;

const urlCitationFields = {
  end_index: { type: 'integer', summary: 'End of the cited text' },
  start_index: { type: 'integer', summary: 'Start of the cited text' },
  title: { type: 'string', summary: 'Title of the page' },
  url: { type: 'string', summary: 'URL of the page' },
} as const satisfies Fields;

const functionCallFields = {
  name: { type: 'string', join: 'first', summary: 'Name of the function' },
  arguments: { type: 'string', join: 'concatenate-or-empty', summary: 'Its arguments as JSON text' },
} as const satisfies Fields;

const responseMessageFields = {
  role: { type: 'string', join: 'first', summary: 'Role of the author' },
  content: { type: 'string', join: 'concatenate', summary: 'The text' },
  refusal: { type: 'string', join: 'concatenate', summary: 'Why the model refused' },
  annotations: {
    type: 'object',
    join: 'append',
    summary: 'References in the text',
    fields: {
      type: { type: 'string', summary: 'Type of the annotation' },
      url_citation: { type: 'object', fields: urlCitationFields, summary: 'A cited page' },
    },
  },
  audio: {
    type: 'object',
    join: 'merge',
    summary: 'The response as audio',
    fields: {
      id: { type: 'string', join: 'first', summary: 'Id of the audio' },
      data: { type: 'string', join: 'concatenate', summary: 'Its bytes in base64' },
      expires_at: { type: 'integer', join: 'last', summary: 'Time of expiry, in seconds since 1970' },
      transcript: { type: 'string', join: 'concatenate', summary: 'Transcript' },
    },
  },
  function_call: {
    type: 'object',
    join: 'merge',
    fields: functionCallFields,
    summary: 'The called function (legacy form)',
  },
  tool_calls: {
    type: 'list',
    join: 'by-index',
    summary: 'The called tools',
    of: {
      type: 'object',
      fields: {
        function: { type: 'object', join: 'merge', fields: functionCallFields, summary: 'The called function' },
        id: { type: 'string', join: 'first', summary: 'Id of the call' },
        type: { type: 'string', oneOf: ['function'], join: 'first', summary: 'Type of the tool' },
      },
    },
  },
  reasoning: { type: 'string', join: 'concatenate', aliases: ['reasoning_content'], summary: 'The reasoning' },
} as const satisfies Fields;

const tokenIdsField = { type: 'list', of: { type: 'integer' } } as const;

const choiceFields = {
  index: { type: 'integer', join: 'first', summary: 'Position among the choices' },
  message: {
    type: 'object',
    join: 'merge',
    streamedAs: 'delta',
    fields: responseMessageFields,
    summary: 'The generated message',
  },
  logprobs: {
    type: 'object',
    join: 'merge',
    summary: 'Log probabilities of the tokens',
    fields: {
      content: {
        type: 'list',
        join: 'append',
        summary: 'An entry for each token',
        of: {
          type: 'object',
          fields: {
            ...tokenLogprobFields,
            top_logprobs: {
              type: 'list',
              of: { type: 'object', fields: tokenLogprobFields },
              summary: 'The most likely tokens at this position',
            },
          },
        },
      },
    },
  },
  finish_reason: { type: 'string', join: 'last', summary: 'Why the response ended: stop, length and others' },
  stop_reason: { type: 'integer', join: 'last', summary: 'Token id that ended the response' },
  token_ids: { ...tokenIdsField, join: 'append', summary: 'Ids of the generated tokens' },
} as const satisfies Fields;

const tokenCountField = { type: 'integer', default: 0 } as const satisfies Omit<Field, 'summary'>;

/** The chat completion, and how the chunks of a streamed one join. */
export const chatResponseFields = {
  model: { type: 'string', required: true, join: 'first', summary: 'Model that responded' },
  choices: {
    type: 'list',
    required: true,
    join: 'by-index',
    of: { type: 'object', fields: choiceFields },
    summary: 'The generated choices',
  },
  usage: {
    type: 'object',
    required: true,
    join: 'last',
    summary: 'Tokens used',
    fields: {
      prompt_tokens: { ...tokenCountField, summary: 'Tokens of the prompt' },
      total_tokens: { ...tokenCountField, summary: 'Total tokens' },
      completion_tokens: { ...tokenCountField, summary: 'Generated tokens' },
      prompt_tokens_details: {
        type: 'object',
        summary: 'Details of the prompt tokens',
        fields: { cached_tokens: { type: 'integer', summary: 'Tokens taken from the cache' } },
      },
    },
  },
  id: { type: 'string', join: 'first', summary: 'Id of the completion' },
  object: {
    type: 'string',
    oneOf: ['chat.completion'],
    default: 'chat.completion',
    join: 'default',
    summary: 'Kind of object',
  },
  created: { type: 'integer', join: 'first', summary: 'When it was made, in seconds since 1970' },
  service_tier: {
    type: 'string',
    nullable: true,
    oneOf: ['auto', 'default', 'flex', 'scale', 'priority'],
    join: 'last',
    summary: 'Service tier that handled it',
  },
  system_fingerprint: { type: 'string', nullable: true, join: 'last', summary: 'Configuration of the serving system' },
  prompt_logprobs: {
    type: 'list',
    nullable: true,
    of: { type: 'object', nullable: true },
    join: 'first',
    summary: 'Log probabilities of the prompt, null for its first token',
  },
  prompt_token_ids: { ...tokenIdsField, nullable: true, join: 'first', summary: 'Ids of the tokens of the prompt' },
  kv_transfer_params: { type: 'object', join: 'last', summary: 'Settings of disaggregated serving' },
} as const satisfies Fields;
