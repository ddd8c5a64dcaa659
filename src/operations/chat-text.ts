import {
  firstStringMember,
  getMember,
  itemsAt,
  itemsOf,
  type JsonNode,
  kindOf,
  numberMember,
} from '../json/json-node.ts';
import { tryParseJson } from '../json/parse-json.ts';
import { compactJson } from '../json/write-json.ts';
import { reasoningNames } from './reasoning-names.ts';

/** How many choices the body of a request asks for. */
export function requestedChoiceCount(body: JsonNode): number {
  return Math.max(1, numberMember(body, 'n') ?? 1);
}

function choiceIndex(choice: JsonNode): number {
  return numberMember(choice, 'index') ?? 0;
}

/** The choices in the order of their indexes; a server may list them in the order they finished. */
export function choicesByIndex(completion: JsonNode): JsonNode[] {
  return itemsAt(completion, 'choices').sort((left, right) => choiceIndex(left) - choiceIndex(right));
}

/** The text of a chat completion: that of its choice, or of several with a heading `--- 1` each. */
export function chatText(completion: JsonNode): string {
  const texts = choicesByIndex(completion).map((choice) => choiceText(getMember(choice, 'message')));
  if (texts.length <= 1) return ensureFinalNewline(texts[0] ?? '');
  return texts.map((text, at) => `${choiceHeading(at + 1)}${ensureFinalNewline(text)}`).join('');
}

export function choiceHeading(number: number): string {
  return `--- ${number}\n`;
}

/** The text of a message or, if it has none and calls tools, one line of JSON for each call. */
export function choiceText(message: JsonNode | undefined): string {
  return contentText(message) || toolCalls(message).map(compactJson).join('\n');
}

/** The text of a message or of a chunk of one: its content, or the text parts of it, or the transcript of its audio. */
export function contentText(message: JsonNode | undefined): string {
  const content = firstStringMember(message, 'content') ?? joinTextParts(itemsAt(message, 'content'));
  return content || (firstStringMember(getMember(message, 'audio'), 'transcript') ?? '');
}

/** The text of the last message of a user, or else of the last message; undefined without messages. */
export function promptText(body: JsonNode | undefined): string | undefined {
  const messages = itemsAt(body, 'messages');
  const asked = messages.findLast((message) => firstStringMember(message, 'role') === 'user') ?? messages.at(-1);
  return asked && contentText(asked);
}

/** True for a chunk of a stream with text, reasoning, a refusal or a tool call; the first chunk usually has only the role. */
export function hasOutput(chunk: JsonNode): boolean {
  return itemsAt(chunk, 'choices').some((choice) => {
    const delta = getMember(choice, 'delta');
    const texts = [contentText(delta), reasoningText(delta), firstStringMember(delta, 'refusal')];
    return texts.some(Boolean) || toolCalls(delta).length > 0;
  });
}

/** True for a chat whose choices have neither text nor a call nor a refusal. */
export function isEmptyChat(completion: JsonNode | undefined): boolean {
  const choices = itemsAt(completion, 'choices');
  const messages = choices.map((choice) => getMember(choice, 'message'));
  return choices.length > 0 && messages.every((one) => !choiceText(one) && !firstStringMember(one, 'refusal'));
}

export function joinTextParts(parts: Iterable<JsonNode>): string {
  return Array.from(parts, (part) => firstStringMember(part, 'text') ?? '').join('');
}

/** The parts of a choice that its text leaves out, each once: content that is neither text nor reasoning, or a missing message. */
export function omittedContent(choice: JsonNode): string[] {
  const message = getMember(choice, 'message');
  if (!message || kindOf(message) !== 'object') return ['a choice without a message'];
  const content = getMember(message, 'content');
  const kind = content ? kindOf(content) : 'null';
  if (!content || kind === 'string' || kind === 'null') return [];
  if (kind !== 'list') return [`content of type ${kind}`];
  const types = [...new Set(unreadableParts(content))].filter((type) => type !== 'thinking');
  return types.map((type) => `a content part of type ${type}`);
}

export function unreadableParts(content: JsonNode): string[] {
  return Array.from(itemsOf(content)).flatMap((part) =>
    firstStringMember(part, 'text') === undefined ? [firstStringMember(part, 'type') ?? 'unknown'] : [],
  );
}

/** The reasoning in a message or in a chunk of one: a field that some servers name twice, or parts of the content. */
export function reasoningText(message: JsonNode | undefined): string {
  const text = reasoningNames.map((name) => firstStringMember(message, name)).find(Boolean);
  return text || partThoughts(message);
}

/** The reasoning in the parts of the content. */
export function partThoughts(message: JsonNode | undefined): string {
  return itemsAt(message, 'content')
    .map((part) => firstStringMember(part, 'thinking') ?? joinTextParts(itemsAt(part, 'thinking')))
    .join('');
}

/** The text with a line break at its end, unless it has one or is empty. */
export function ensureFinalNewline(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}

/** The tool calls of a message, and its function call of the legacy form, unless that is one of them. */
export function toolCalls(message: JsonNode | undefined): JsonNode[] {
  const functionCall = getMember(message, 'function_call');
  const calls = itemsAt(message, 'tool_calls');
  if (!functionCall || kindOf(functionCall) !== 'object') return calls;
  const key = callKey(functionCall);
  return calls.some((call) => callKey(getMember(call, 'function')) === key) ? calls : [...calls, functionCall];
}

export function toolName(call: JsonNode): string {
  return firstStringMember(getMember(call, 'function') ?? call, 'name') ?? 'unnamed';
}

// The same call may be written with other whitespace.
function callKey(called: JsonNode | undefined): string {
  const args = firstStringMember(called, 'arguments') ?? '';
  const parsed = tryParseJson(args);
  return JSON.stringify([firstStringMember(called, 'name') ?? '', parsed ? compactJson(parsed) : args]);
}
