import { chatEngineFields } from './chat-engine-fields.ts';
import { chatRequestFields } from './chat-request-fields.ts';
import { chatResponseFields } from './chat-response-fields.ts';
import { acceptedChatFields, chatRules } from './chat-rules.ts';
import { BYTES_PER_MEBIBYTE, type Operation } from './operation.ts';

/** POST /v1/chat/completions: each completion costs money. */
export const chatOperation = {
  command: ['chat'],
  summary: 'Create a chat completion',
  about:
    'Prints the text of the response; --json prints the whole response. Piped text is appended to the prompt. Without a prompt, piped JSON is the body, and other piped text is the prompt. At a terminal without a prompt, the chat is interactive.',
  path: '/v1/chat/completions',
  auth: 'bearer',
  host: 'chat',
  largestBody: 32 * BYTES_PER_MEBIBYTE,
  errors: 'error',
  effect: 'paid',
  ids: { request: ['request_id'] },
  body: { ...chatRequestFields, ...chatEngineFields },
  accepted: acceptedChatFields,
  rules: chatRules,
  reply: chatResponseFields,
  result: { member: 'choices', as: 'chat' },
  canStream: true,
  arguments: { name: 'prompt', summary: 'Words of the prompt, joined by spaces', as: 'prompt' },
  shorthands: {
    system: {
      kind: 'message',
      role: 'system',
      short: 's',
      isCommon: true,
      summary: 'System message; replaces a leading one',
    },
    developer: {
      kind: 'message',
      role: 'developer',
      summary: 'Developer message, the system message of newer reasoning models; replaces a leading one',
    },
    message: { kind: 'role-message', isCommon: true, summary: 'Message of any role (repeatable)' },
    prefill: {
      kind: 'prefill',
      conflicts: ['add-generation-prompt', 'no-continue-final-message'],
      summary: 'Beginning of the response, which the model continues',
    },
    conversation: {
      kind: 'conversation',
      isCommon: true,
      summary: 'Continue the conversation in this file; the prompt and the response are saved to it',
    },
    attach: {
      kind: 'attach',
      isCommon: true,
      summary: 'Attach an image, audio or text file to the prompt (repeatable)',
    },
    'json-schema': {
      kind: 'reply-schema',
      isCommon: true,
      conflicts: ['response-format'],
      summary: 'JSON Schema of the response',
    },
  },
  examples: [
    { why: 'Ask a question', args: 'chat -m svc-local "Name three rivers"' },
    { why: 'Ask about a file', args: 'chat "Summarize this"', stdin: 'Parcels take two days.\n' },
    {
      why: 'Get a response that conforms to a JSON Schema',
      args: 'chat "Where is my parcel?" --json-schema @answer.schema.json',
    },
    { why: 'Send a body from a file with another seed', args: 'chat -f chat.json --seed 9223372036854775807 --json' },
    { why: 'Leave stdin to the loop that calls svc', args: 'chat --no-stdin "Name a river" -q' },
  ],
} as const satisfies Operation;
