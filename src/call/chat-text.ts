import { parseJson } from '../json/document.ts';
import { compactJson } from '../json/layout.ts';
import { itemsOf, type JsonNode, kindOf, member, stringIn, textOf } from '../json/node.ts';

/** The choices of a completion or of a chunk of one. */
export function choicesIn(reply: JsonNode): JsonNode[] {
  const choices = member(reply, 'choices');
  return choices ? Array.from(itemsOf(choices)) : [];
}

/**
 * The text of a chat completion: that of its choice, or of all with a heading `--- 1` each. A choice without text that
 * calls tools is one line of JSON a call.
 */
export function chatText(reply: JsonNode): string {
  const texts = choicesInOrder(reply).map((choice) => choiceText(member(choice, 'message')));
  if (texts.length <= 1) return withFinalNewline(texts[0] ?? '');
  return texts.map((text, at) => `--- ${at + 1}\n${withFinalNewline(text)}`).join('');
}

/** The reasoning of a message or of a piece of one, which some servers name twice and some fill in one place only. */
export function reasoningIn(message: JsonNode | undefined): string | undefined {
  return stringIn(message, 'reasoning') || stringIn(message, 'reasoning_content');
}

/** The text with a line end at its end, unless it has one or is empty. */
export function withFinalNewline(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}

/** What is to be said about how a reply ended: only when it is not simply complete. */
export function endNotes(reply: JsonNode): string[] {
  return choicesIn(reply).flatMap((choice) => {
    const reason = stringIn(choice, 'finish_reason');
    const refusal = stringIn(member(choice, 'message'), 'refusal');
    return [
      ...(reason === 'length' ? ['the reply is cut at the token limit (finish reason length)'] : []),
      ...(reason === 'content_filter' ? ['the reply is cut by a content filter (finish reason content_filter)'] : []),
      ...(refusal ? [`the model refused: ${refusal}`] : []),
    ];
  });
}

/** A line about the end of a reply and the tokens it took, for `--verbose`. */
export function endDetail(reply: JsonNode): string {
  const reasons = choicesIn(reply).map((choice) => stringIn(choice, 'finish_reason') ?? 'none');
  const usage = member(reply, 'usage');
  const counts = ['prompt_tokens', 'completion_tokens'].map((name) => {
    const count = member(usage, name);
    return `${name} ${count ? textOf(count) : 'unknown'}`;
  });
  return `finish reason ${reasons.join(', ')}; ${counts.join(', ')}`;
}

function choiceText(message: JsonNode | undefined): string {
  const content = member(message, 'content');
  const text = content && kindOf(content) === 'list' ? partsText(content) : stringIn(message, 'content');
  if (text) return text;
  const calls = member(message, 'tool_calls');
  return Array.from(calls ? itemsOf(calls) : [], (call) => compactJson(parseJson(textOf(call)))).join('\n');
}

// A server may list them as they finished.
function choicesInOrder(reply: JsonNode): JsonNode[] {
  const indexOf = (choice: JsonNode): number => {
    const index = member(choice, 'index');
    return index ? Number(textOf(index)) : 0;
  };
  return choicesIn(reply).sort((left, right) => indexOf(left) - indexOf(right));
}

function partsText(content: JsonNode): string {
  return Array.from(itemsOf(content), (part) => stringIn(part, 'text') ?? '').join('');
}
