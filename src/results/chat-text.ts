import { compactJson } from '../json/format-json.ts';
import { firstStringMember, getMember, itemsOf, type JsonNode, kindOf, rawText, stringOf } from '../json/json-node.ts';
import { parseJson } from '../json/parse-json.ts';

/** The choices of a chat completion or of one of its chunks. */
export function completionChoices(completion: JsonNode): JsonNode[] {
  const choices = getMember(completion, 'choices');
  return choices ? Array.from(itemsOf(choices)) : [];
}

/** The index of a choice; 0 where it has none. */
export function choiceIndex(choice: JsonNode): number {
  const index = getMember(choice, 'index');
  return index && kindOf(index) === 'number' ? Number(rawText(index)) : 0;
}

/** The choices in the order of their indexes; a server may list them in the order they finished. */
export function choicesByIndex(completion: JsonNode): JsonNode[] {
  return completionChoices(completion).sort((left, right) => choiceIndex(left) - choiceIndex(right));
}

/** The text of a chat completion: that of its choice, or of several with a heading `--- 1` each. */
export function chatText(completion: JsonNode): string {
  const texts = choicesByIndex(completion).map((choice) => choiceText(getMember(choice, 'message')));
  if (texts.length <= 1) return ensureFinalNewline(texts[0] ?? '');
  return texts.map((text, at) => `${choiceHeading(at + 1)}${ensureFinalNewline(text)}`).join('');
}

/** The line above the text of one choice of several, counted from 1. */
export function choiceHeading(number: number): string {
  return `--- ${number}\n`;
}

/** What a message says, or, where it says nothing and calls tools, one line of JSON for each call. */
export function choiceText(message: JsonNode | undefined): string {
  return (
    contentText(message) ||
    toolCalls(message)
      .map((call) => compactJson(parseJson(rawText(call))))
      .join('\n')
  );
}

/** The text of a message or of a chunk of one: its content, or the text parts of it. */
export function contentText(message: JsonNode | undefined): string {
  const content = getMember(message, 'content');
  if (!content) return '';
  if (kindOf(content) === 'list') return contentPartsText(content);
  return kindOf(content) === 'string' ? stringOf(content) : '';
}

/** The text parts of an array of content parts, joined. */
export function contentPartsText(content: JsonNode): string {
  return Array.from(itemsOf(content), (part) => firstStringMember(part, 'text') ?? '').join('');
}

/** The types of the parts that have no text. */
export function unreadableParts(content: JsonNode): string[] {
  return Array.from(itemsOf(content)).flatMap((part) =>
    firstStringMember(part, 'text') === undefined ? [firstStringMember(part, 'type') ?? 'unknown'] : [],
  );
}

/** The reasoning in a message or in a chunk of one: a field that some servers name twice, or parts of the content. */
export function reasoningText(message: JsonNode | undefined): string {
  const text = firstStringMember(message, 'reasoning') || firstStringMember(message, 'reasoning_content');
  if (text) return text;
  const content = getMember(message, 'content');
  if (!content || kindOf(content) !== 'list') return '';
  return Array.from(itemsOf(content), (part) => {
    const thinking = getMember(part, 'thinking');
    return thinking && kindOf(thinking) === 'list' ? contentPartsText(thinking) : firstStringMember(part, 'thinking');
  }).join('');
}

/** The text with a line break at its end, unless it has one or is empty. */
export function ensureFinalNewline(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}

/** The tool calls of a message. */
export function toolCalls(message: JsonNode | undefined): JsonNode[] {
  const calls = getMember(message, 'tool_calls');
  return calls ? Array.from(itemsOf(calls)) : [];
}
