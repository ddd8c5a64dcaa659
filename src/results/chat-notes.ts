import { firstStringMember, getMember, type JsonNode, rawText } from '../json/json-node.ts';
import { completionChoices, contentText, toolCalls } from './chat-text.ts';

/** Notes on a response that is not simply complete: cut, refused, fewer choices than requested. */
export function completionNotes(completion: JsonNode, requestedChoices: number): string[] {
  const choices = completionChoices(completion);
  return [...choices.flatMap(choiceNotes), ...choiceCountNote(choices.length, requestedChoices)];
}

/** Notes on what the text of a response leaves out. */
export function omittedCallNotes(completion: JsonNode): string[] {
  return completionChoices(completion).flatMap((choice) => {
    const message = getMember(choice, 'message');
    const names = toolCalls(message).map((call) => firstStringMember(getMember(call, 'function'), 'name') ?? 'unnamed');
    if (names.length === 0 || contentText(message) === '') return [];
    return [
      `the response also calls ${names.length === 1 ? 'a tool' : `${names.length} tools`}: ${names.join(', ')}; --json prints the calls`,
    ];
  });
}

/** A line about the end of a response and the tokens it used, for `--verbose`. */
export function finishDetail(completion: JsonNode): string {
  const reasons = completionChoices(completion).map((choice) => firstStringMember(choice, 'finish_reason') ?? 'none');
  const usage = getMember(completion, 'usage');
  const counts = ['prompt_tokens', 'completion_tokens'].map((name) => {
    const count = getMember(usage, name);
    return `${name} ${count ? rawText(count) : 'unknown'}`;
  });
  return `finish reason ${reasons.join(', ')}; ${counts.join(', ')}`;
}

function choiceNotes(choice: JsonNode): string[] {
  const reason = firstStringMember(choice, 'finish_reason');
  const refusal = firstStringMember(getMember(choice, 'message'), 'refusal');
  return [
    ...(reason === 'length' ? ['the response was cut at the token limit (finish reason length)'] : []),
    ...(reason === 'content_filter' ? ['the response was cut by a content filter (finish reason content_filter)'] : []),
    ...(refusal ? [`the model refused: ${refusal}`] : []),
  ];
}

function choiceCountNote(count: number, requested: number): string[] {
  if (count >= requested) return [];
  return [`the service returned ${count} of ${requested} requested choices`];
}
