import { type Issue, usageFailure } from '../../errors.ts';
import type { JsonNode } from '../../json/json-node.ts';
import { firstStringMember, getMember, isTrue, itemsOf, kindOf, rawText, rootOf } from '../../json/json-node.ts';
import { RawJson, writeJson } from '../../json/write-json.ts';
import { chatOperation } from '../../operations/chat.ts';
import { requestedChoiceCount } from '../../operations/chat-text.ts';
import { flagTarget } from '../../operations/operation.ts';
import { type BodyFlags, givenText, givenTexts } from '../body-flags.ts';
import type { Attachment, Draft, Edit, ValueOrigin } from '../draft.ts';
import { createDraft, orderAddedFields, originInDraft, placeInDraft, setDraftFields } from '../draft.ts';
import type { BodyInputs } from '../input-reader.ts';
import type { JsonSource } from '../json-source.ts';

export interface MessageInput {
  readonly given: BodyFlags;
  readonly inputs: BodyInputs;
  /** The prompt: words, piped text, or both. */
  readonly prompt?: string | undefined;
  readonly conversation?: JsonSource | undefined;
}

interface Message {
  readonly text: string;
  readonly role: string | undefined;
  readonly origin: ValueOrigin;
}

/** In the order system, developer, conversation, body, `--message`, prompt, prefill; a leading message of the same role is replaced. */
export async function messageEdits(draft: Draft, input: MessageInput): Promise<(Edit | Issue)[]> {
  const { given, inputs, prompt, conversation } = input;
  const files = givenTexts(given, 'attach');
  const attachments = files.length === 0 ? [] : await (await import('./attachment.ts')).readAttachments(files, inputs);
  const prefill = givenText(given, 'prefill');
  const leading = ['system', 'developer'].flatMap((role) => optionalMessage(role, givenText(given, role), `--${role}`));
  const trailing = [
    ...givenTexts(given, 'message').map(parseMessageFlag),
    ...userMessage(prompt, attachments),
    ...optionalMessage('assistant', prefill, '--prefill'),
  ];
  if (leading.length + trailing.length === 0 && !conversation) return [];
  const messagesNode = getMember(rootOf(draft.doc), 'messages');
  if (messagesNode && kindOf(messagesNode) !== 'list') {
    const message = 'must be an array, because flags add messages to it';
    return [{ path: 'messages', at: placeInDraft(draft, ['messages']), message }];
  }
  const base = conversation && createDraft(conversation);
  const existing = [
    ...(base ? listedMessages(rootOf(base.doc), (index) => originInDraft(base, [index])) : []),
    ...listedMessages(messagesNode, (index) => originInDraft(draft, ['messages', index])),
  ];
  const messages = [...leading, ...withoutReplacedMessages(existing, leading), ...trailing];
  const list: Edit = {
    path: ['messages'],
    text: `[${messages.map(({ text }) => text).join(',')}]`,
    origin: { label: 'prompt' },
    items: messages.map(({ origin }) => origin),
    attachments,
  };
  if (prefill === undefined) return [list];
  const origin = { label: '--prefill' };
  return [
    list,
    { path: ['continue_final_message'], text: 'true', origin },
    { path: ['add_generation_prompt'], text: 'false', origin },
  ];
}

// A conversation begins with the system message of its last turn; one given again replaces it.
function withoutReplacedMessages(existing: readonly Message[], leading: readonly Message[]): readonly Message[] {
  const first = existing.findIndex(({ role }) => role !== 'system' && role !== 'developer');
  const head = first === -1 ? existing : existing.slice(0, first);
  const replaced = leading.map(({ role }) => head.find((message) => message.role === role));
  return existing.filter((message) => !replaced.includes(message));
}

function optionalMessage(role: string, content: string | undefined, label: string): Message[] {
  return content === undefined ? [] : [{ text: writeJson({ role, content }), role, origin: { label } }];
}

function userMessage(prompt: string | undefined, attachments: readonly Attachment[]): Message[] {
  if (attachments.length === 0) return optionalMessage('user', prompt, 'prompt');
  const textPart = prompt === undefined ? [] : [writeJson({ type: 'text', text: prompt })];
  const content = new RawJson(`[${[...textPart, ...attachments.map(({ part }) => part)].join(',')}]`);
  return [{ text: writeJson({ role: 'user', content }), role: 'user', origin: { label: '--attach' } }];
}

export function parseMessageFlag(word: string): Message {
  const [, role, content] = /^([A-Za-z][\w-]*):(.*)$/s.exec(word) ?? [];
  if (role === undefined)
    throw usageFailure(`--message: ${JSON.stringify(word)} has no role`, 'write role:text, such as user:Hello');
  return { text: writeJson({ role, content }), role, origin: { label: '--message' } };
}

function listedMessages(list: JsonNode | undefined, originOf: (index: number) => ValueOrigin): Message[] {
  return Array.from(list ? itemsOf(list) : [], (node, index) => ({
    text: rawText(node),
    role: firstStringMember(node, 'role'),
    // Flags put other messages before it.
    origin: { ...originOf(index), path: ['messages', index] },
  }));
}

/** Requests a stream, unless the body sets `stream` or cannot be streamed: of one text (`live`), or of chunks. `needsUsage` adds token counts. */
export function withStreamEnabled(draft: Draft, display: 'live' | 'chunks', needsUsage: boolean): Draft {
  const body = rootOf(draft.doc);
  const promptLogprobs = getMember(body, 'prompt_logprobs');
  const hasPromptLogprobs = promptLogprobs && kindOf(promptLogprobs) !== 'null';
  const isUnstreamable = hasPromptLogprobs || isTrue(getMember(body, 'use_beam_search'));
  const isUnreadable = display === 'live' && requestedChoiceCount(body) > 1;
  if (isUnstreamable || isUnreadable || getMember(body, 'stream')) return draft;
  const origin = { label: 'svc' };
  const usage = { path: ['stream_options'], text: '{"include_usage":true}', origin };
  const isUsageAdded = needsUsage && !getMember(body, 'stream_options');
  const edits = [{ path: ['stream'], text: 'true', origin }, ...(isUsageAdded ? [usage] : [])];
  const target = flagTarget(chatOperation);
  return orderAddedFields(setDraftFields(draft, target, edits), target);
}
