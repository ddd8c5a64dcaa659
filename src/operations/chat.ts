import { chatEngineFields } from './chat-engine-fields.ts';
import { chatRequestFields } from './chat-request-fields.ts';
import { chatResponseFields } from './chat-response-fields.ts';
import { BYTES_PER_MEBIBYTE, type Operation } from './operation.ts';

/** POST /v1/chat/completions (INTERFACE.md): a completion costs money each time it is asked for. */
export const chatOperation = {
  command: ['chat'],
  summary: 'Create a chat completion',
  about:
    'The result is the text of the reply; --json gives the whole reply. Text piped in joins the prompt, or is the prompt where there is none; JSON piped in is the body.',
  path: '/v1/chat/completions',
  auth: 'bearer',
  host: 'chat',
  largestBody: 32 * BYTES_PER_MEBIBYTE,
  errors: 'error',
  effect: 'paid',
  ids: { request: ['request_id'] },
  body: { ...chatRequestFields, ...chatEngineFields },
  reply: chatResponseFields,
  result: { member: 'choices', as: 'chat' },
  streams: true,
  arguments: { name: 'prompt', summary: 'Words of the prompt, joined by blanks', as: 'prompt' },
  shorthands: {
    system: {
      kind: 'message',
      role: 'system',
      short: 's',
      value: '<text>',
      common: true,
      summary: 'System message; replaces one that leads the conversation',
    },
    developer: {
      kind: 'message',
      role: 'developer',
      value: '<text>',
      summary: 'Developer message, the system message of newer reasoning models; replaces one that leads',
    },
    message: {
      kind: 'role-message',
      value: '<role:text>',
      common: true,
      summary: 'A message of any role; may be given again',
    },
    prefill: {
      kind: 'prefill',
      conflicts: ['add-generation-prompt', 'no-continue-final-message'],
      value: '<text>',
      summary: 'Beginning of the response, which the model continues',
    },
    conversation: {
      kind: 'conversation',
      value: '<file>',
      common: true,
      summary: 'Go on with the conversation in this file and keep prompt and reply in it',
    },
    'json-schema': {
      kind: 'reply-schema',
      value: '<@file>',
      common: true,
      summary: 'JSON Schema the reply must follow',
    },
  },
  examples: [
    { why: 'Ask', args: 'chat -m svc-local "Name three rivers"' },
    { why: 'Ask about a file', args: 'chat "Summarise this"', stdin: 'Parcels take two days.\n' },
    { why: 'A reply that a script can read', args: 'chat "Where is my parcel?" --json-schema @answer.schema.json' },
    { why: 'A whole body from a file, with another seed', args: 'chat -f chat.json --seed 9223372036854775807 --json' },
    { why: 'In a loop that reads stdin itself', args: 'chat --no-stdin "Name a river" -q' },
  ],
} as const satisfies Operation;
