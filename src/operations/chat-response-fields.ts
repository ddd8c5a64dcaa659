import { type Fields, fieldsOf } from '../fields/field.ts';
import { reasoningNames } from './reasoning-names.ts';

const { integer, list, number, object, string } = fieldsOf();

const tokenLogprobFields: Fields = {
  token: string('Text of the token'),
  logprob: number('Its log probability'),
  bytes: list('Its bytes, which can be part of a character', { type: 'integer' }),
};

const urlCitationFields: Fields = {
  end_index: integer('End of the cited text'),
  start_index: integer('Start of the cited text'),
  title: string('Title of the page'),
  url: string('URL of the page'),
};

const functionCallFields: Fields = {
  name: string('Name of the function', { join: 'first' }),
  arguments: string('Its arguments as JSON text', { join: 'concatenate-or-empty' }),
};

const reasoningDetailFields: Fields = {
  type: string('Type of the detail, such as reasoning.text or reasoning.encrypted', { join: 'first' }),
  text: string('Text of the reasoning', { join: 'concatenate' }),
  summary: string('Summary of the reasoning', { join: 'concatenate' }),
  data: string('Encrypted reasoning, which the server needs back', { join: 'concatenate' }),
  signature: string('Signature of the text, which the server needs back', { join: 'concatenate' }),
  id: string('Id of the detail', { join: 'first' }),
  format: string('Format of the detail', { join: 'first' }),
  index: integer('Position of the detail', { join: 'first' }),
};

const responseMessageFields: Fields = {
  role: string('Role of the author', { join: 'first' }),
  content: string('The text', { join: 'concatenate' }),
  refusal: string('Why the model refused', { join: 'concatenate' }),
  annotations: object('References in the text', {
    join: 'append',
    fields: {
      type: string('Type of the annotation'),
      url_citation: object('A cited page', { fields: urlCitationFields }),
    },
  }),
  audio: object('The response as audio', {
    join: 'merge',
    fields: {
      id: string('Id of the audio', { join: 'first' }),
      data: string('Its bytes in base64', { join: 'concatenate' }),
      expires_at: integer('Time of expiry, in seconds since 1970', { join: 'last' }),
      transcript: string('Transcript', { join: 'concatenate' }),
    },
  }),
  function_call: object('The called function (legacy form)', { join: 'merge', fields: functionCallFields }),
  tool_calls: list(
    'The called tools',
    {
      type: 'object',
      fields: {
        function: object('The called function', { join: 'merge', fields: functionCallFields }),
        custom: object('The called custom tool', {
          join: 'merge',
          fields: {
            name: string('Name of the tool', { join: 'first' }),
            input: string('Its input as text', { join: 'concatenate' }),
          },
        }),
        id: string('Id of the call', { join: 'first' }),
        type: string('Type of the tool', { oneOf: ['function', 'custom'], join: 'first' }),
      },
    },
    { join: 'by-index' },
  ),
  reasoning: string('The reasoning', { join: 'concatenate', aliases: reasoningNames.slice(1) }),
  reasoning_details: list(
    'The reasoning in the form that some servers need back',
    { type: 'object', fields: reasoningDetailFields },
    { join: 'append' },
  ),
};

const choiceFields: Fields = {
  index: integer('Position among the choices', { join: 'first' }),
  message: object('The generated message', { join: 'merge', streamedAs: 'delta', fields: responseMessageFields }),
  logprobs: object('Log probabilities of the tokens', {
    join: 'merge',
    fields: {
      content: list(
        'An entry for each token',
        {
          type: 'object',
          fields: {
            ...tokenLogprobFields,
            top_logprobs: list('The most likely tokens at this position', {
              type: 'object',
              fields: tokenLogprobFields,
            }),
          },
        },
        { join: 'append' },
      ),
      refusal: list(
        'An entry for each token of a refusal',
        { type: 'object', fields: tokenLogprobFields },
        { join: 'append' },
      ),
    },
  }),
  finish_reason: string('Why the response ended: stop, length and others', { join: 'last' }),
  stop_reason: integer('Token id that ended the response', { join: 'last' }),
  token_ids: list('Ids of the generated tokens', { type: 'integer' }, { join: 'append' }),
};

export const chatResponseFields: Fields = {
  model: string('Model that responded', { required: true, join: 'first' }),
  choices: list(
    'The generated choices',
    { type: 'object', fields: choiceFields },
    { required: true, join: 'by-index' },
  ),
  usage: object('Tokens used', {
    required: true,
    join: 'last',
    fields: {
      prompt_tokens: integer('Tokens of the prompt', { default: 0 }),
      total_tokens: integer('Total tokens', { default: 0 }),
      completion_tokens: integer('Generated tokens', { default: 0 }),
      prompt_tokens_details: object('Details of the prompt tokens', {
        fields: { cached_tokens: integer('Tokens taken from the cache') },
      }),
    },
  }),
  id: string('Id of the completion', { join: 'first' }),
  object: string('Kind of object', { oneOf: ['chat.completion'], default: 'chat.completion', join: 'default' }),
  created: integer('When it was made, in seconds since 1970', { join: 'first' }),
  service_tier: string('Service tier that handled it', {
    nullable: true,
    oneOf: ['auto', 'default', 'flex', 'scale', 'priority'],
    join: 'last',
  }),
  system_fingerprint: string('Configuration of the serving system', { nullable: true, join: 'last' }),
  prompt_logprobs: list(
    'Log probabilities of the prompt, null for its first token',
    { type: 'object', nullable: true },
    { nullable: true, join: 'first' },
  ),
  prompt_token_ids: list('Ids of the tokens of the prompt', { type: 'integer' }, { nullable: true, join: 'first' }),
  kv_transfer_params: object('Settings of disaggregated serving', { join: 'last' }),
};
