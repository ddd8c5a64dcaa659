import { compactJson } from '../json/format-json.ts';
import { firstStringMember, getMember, itemsOf, type JsonNode, kindOf, rawText } from '../json/json-node.ts';
import { parseJson } from '../json/parse-json.ts';

/** The choices of a completion or of a chunk of one. */
export function completionChoices(completion: JsonNode): JsonNode[] {
  const choices = getMember(completion, 'choices');
  return choices ? Array.from(itemsOf(choices)) : [];
}

/**
 * The text of a chat completion: that of its choice, or of all with a heading `--- 1` each. A choice without text that
 * calls tools is one line of JSON a call.
 */
export function chatText(completion: JsonNode): string {
  const texts = choicesByIndex(completion).map((choice) => choiceText(getMember(choice, 'message')));
  if (texts.length <= 1) return ensureFinalNewline(texts[0] ?? '');
  return texts.map((text, at) => `--- ${at + 1}\n${ensureFinalNewline(text)}`).join('');
}

/** The reasoning of a message or of a piece of one, which some servers name twice and some fill in one place only. */
export function reasoningText(message: JsonNode | undefined): string | undefined {
  return firstStringMember(message, 'reasoning') || firstStringMember(message, 'reasoning_content');
}

/** The text with a line end at its end, unless it has one or is empty. */
export function ensureFinalNewline(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}

/** What is to be said about how a reply ended: only when it is not simply complete. */
export function finishNotes(completion: JsonNode): string[] {
  return completionChoices(completion).flatMap((choice) => {
    const reason = firstStringMember(choice, 'finish_reason');
    const refusal = firstStringMember(getMember(choice, 'message'), 'refusal');
    return [
      ...(reason === 'length' ? ['the reply is cut at the token limit (finish reason length)'] : []),
      ...(reason === 'content_filter' ? ['the reply is cut by a content filter (finish reason content_filter)'] : []),
      ...(refusal ? [`the model refused: ${refusal}`] : []),
    ];
  });
}

/** A line about the end of a reply and the tokens it took, for `--verbose`. */
export function finishDetail(completion: JsonNode): string {
  const reasons = completionChoices(completion).map((choice) => firstStringMember(choice, 'finish_reason') ?? 'none');
  const usage = getMember(completion, 'usage');
  const counts = ['prompt_tokens', 'completion_tokens'].map((name) => {
    const count = getMember(usage, name);
    return `${name} ${count ? rawText(count) : 'unknown'}`;
  });
  return `finish reason ${reasons.join(', ')}; ${counts.join(', ')}`;
}

function choiceText(message: JsonNode | undefined): string {
  const content = getMember(message, 'content');
  const text =
    content && kindOf(content) === 'list' ? contentPartsText(content) : firstStringMember(message, 'content');
  if (text) return text;
  const calls = getMember(message, 'tool_calls');
  return Array.from(calls ? itemsOf(calls) : [], (call) => compactJson(parseJson(rawText(call)))).join('\n');
}

// A server may list them as they finished.
function choicesByIndex(completion: JsonNode): JsonNode[] {
  const choiceIndex = (choice: JsonNode): number => {
    const index = getMember(choice, 'index');
    return index ? Number(rawText(index)) : 0;
  };
  return completionChoices(completion).sort((left, right) => choiceIndex(left) - choiceIndex(right));
}

function contentPartsText(content: JsonNode): string {
  return Array.from(itemsOf(content), (part) => firstStringMember(part, 'text') ?? '').join('');
}
