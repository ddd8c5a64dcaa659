import { chatEngineFields, chatRequestFields } from './chat-fields.ts';
import { chatResponseFields } from './chat-response-fields.ts';
import { acceptedChatFields, chatRules } from './chat-rules.ts';
import { foreignChatFields } from './foreign-chat-fields.ts';
import { BYTES_PER_MEBIBYTE, type Operation } from './operation.ts';

/** POST /v1/chat/completions: each completion costs money. */
export const chatOperation = {
  command: ['chat'],
  summary: 'Create a chat completion',
  about:
    'Prints the text of the response; --json prints the whole response. Piped text is appended to the prompt; without one, it is the body if it is JSON, else the prompt. At a terminal without a prompt, the chat is interactive.',
  path: '/v1/chat/completions',
  auth: 'bearer',
  host: 'chat',
  maxBodyBytes: 32 * BYTES_PER_MEBIBYTE,
  errors: 'error',
  effect: 'paid',
  ids: { request: ['request_id'] },
  body: { ...chatRequestFields, ...chatEngineFields },
  accepted: acceptedChatFields,
  foreign: foreignChatFields,
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
      summary: 'Developer message; the system message of newer reasoning models; replaces a leading one',
    },
    message: { kind: 'role-message', isCommon: true, summary: 'Message of any role (repeatable)' },
    prefill: {
      kind: 'prefill',
      sets: ['continue_final_message', 'add_generation_prompt'],
      conflicts: ['add-generation-prompt', 'no-continue-final-message'],
      summary: 'Beginning of the response; the model continues it',
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
      sets: ['response_format'],
      isCommon: true,
      conflicts: ['response-format'],
      summary: 'JSON Schema of the response',
    },
  },
  keyFlags: ['model', 'system', 'file', 'json', 'output', 'attach', 'json-schema', 'conversation', 'local', 'dry-run'],
  examples: [
    { why: 'Try it without a service', args: 'chat --local "Name three rivers"' },
    { why: 'Ask the service of your profile', args: 'chat -m gpt-4o-mini "Name three rivers"' },
    { why: 'Ask about a file', args: 'chat "Summarize this"', stdin: 'Parcels take two days.\n' },
  ],
} as const satisfies Operation;
